// Writing into state: assignment of any type, accumulation of gradients.
#include "tests/layers/harness.h"

namespace lathe::testing {
namespace {

TEST(Assign, CopiesEveryType) {
  for (const std::string& kind : Registry::instance().kinds("assign")) {
    for (DType dtype : {DType::f32, DType::f16, DType::u8, DType::i32, DType::i64})
      for (int64_t n : {1, 7, 33})
        expect_same(
            run("assign", kind, {integers({n}, 1, 0, 100, dtype), integers({n}, 2, 0, 100, dtype)})[0],
            integers({n}, 2, 0, 100, dtype));
    expect_same(run("assign", kind, {scalar(1), scalar(2)})[0], scalar(2));
  }
}

TEST(Accumulate, AddsInPlace) {
  for (int64_t n : {1, 2, 3, 7, 8, 9, 31, 33, 1000}) {
    Tensor total = random({n}, 1), g = random({n}, 2), sum = total;
    for (size_t i = 0; i < sum.values.size(); ++i)
      sum.values[i] = static_cast<float>(total.values[i]) + static_cast<float>(g.values[i]);
    for (const std::string& kind : Registry::instance().kinds("accumulate"))
      for (int64_t offset : {0, 1}) expect_same(run("accumulate", kind, {total, g}, {}, offset)[0], sum);
  }
}

TEST(Assign, RefusesWhatDoesNotFit) {
  expect_refused("assign", {filled({2}, 0), filled({3}, 0)}, {}, "source is");
  expect_refused("assign", {filled({2}, 0), filled({2}, 0, DType::i32)}, {}, "source is");
  expect_refused("accumulate", {filled({2}, 0, DType::f16), filled({2}, 0, DType::f16)}, {}, "f32");
}

}  // namespace
}  // namespace lathe::testing
