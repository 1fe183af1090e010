// Fully connected layers: every implementation equals the reference over odd sizes, the gradients equal
// finite differences, and PyTorch's numbers come out exactly.
#include <array>
#include <cmath>
#include <vector>

#include "tests/layers/harness.h"

namespace lathe::testing {
namespace {

TEST(Linear, EveryImplementationAgreesOverSizes) {
  const std::vector<std::array<int64_t, 3>> sizes = {{1, 1, 1},    {1, 7, 3},     {3, 1, 5},
                                                     {5, 3, 1},    {17, 33, 10},  {64, 16, 64},
                                                     {65, 17, 63}, {2, 300, 130}, {128, 64, 6}};
  for (auto [N, K, M] : sizes) {
    Tensor x = random({N, K}, 1), w = random({M, K}, 2), dy = random({N, M}, 3);
    expect_agree("linear", {x, w}, {}, {2e-5, 2e-5});
    expect_agree("linear_dgrad", {dy, w}, {}, {2e-5, 2e-5});
    expect_agree("linear_wgrad", {x, dy}, {}, {2e-5, 2e-5});
  }
}

TEST(Linear, GradientsAreFiniteDifferences) {
  check_gradient("linear", {random({3, 5}, 1), random({4, 5}, 2)}, {}, {true, true});
}

TEST(Linear, EqualsPyTorch) {  // golden/make_convolution.py
  Tensor x = tensor({2, 3}, {-2, 3, -3, 2, -4, 1}),
         w = tensor({4, 3}, {0, -2, 3, 1, -1, -3, 2, 0, -2, 3, 1, -1});
  Tensor dy = tensor({2, 4}, {-1, 4, 0, -4, 1, -3, 2, -2});
  for (const std::string& kind : Registry::instance().kinds("linear")) {
    expect_close(run("linear", kind, {x, w})[0], tensor({2, 4}, {-15, 4, 2, 0, 11, 3, 2, 1}), 0, 0, kind);
    expect_close(run("linear_dgrad", kind, {dy, w})[0], tensor({2, 3}, {-8, -6, -11, -5, -1, 10}), 0, 0,
                 kind);
    expect_close(run("linear_wgrad", kind, {x, dy})[0],
                 tensor({4, 3}, {4, -7, 4, -14, 24, -15, 4, -8, 2, 4, -4, 10}), 0, 0, kind);
  }
}

TEST(Linear, NaNReachesItsRowAndNoOther) {
  Tensor x = random({3, 4}, 1), w = random({2, 4}, 2);
  x.values[5] = std::nan("");
  for (const std::string& kind : Registry::instance().kinds("linear")) {
    Tensor y = run("linear", kind, {x, w})[0];
    for (int64_t i = 0; i < 6; ++i)
      EXPECT_EQ(std::isnan(y.values[i]), i / 2 == 1) << kind << " element " << i;
  }
}

TEST(Linear, MisfitsAreRefusedInWords) {
  expect_refused("linear", {random({2, 4}, 1), random({3, 5}, 2)}, {},
                 "linear: weights [3, 5] take 5 inputs, the input is [2, 4]");
  expect_refused("linear", {random({2, 4, 1, 1}, 1), random({3, 4}, 2)}, {}, "must be a matrix");
  expect_refused("linear", {random({0, 4}, 1), random({3, 4}, 2)}, {}, "no empty extent");
  expect_refused("linear_dgrad", {random({2, 4}, 1), random({3, 4}, 2)}, {}, "give 3 outputs");
  expect_refused("linear_wgrad", {random({2, 4}, 1), random({3, 4}, 2)}, {}, "different batch sizes");
}

TEST(Linear, CostIsTwoFlopsAMultiplyAdd) {
  const Operation& wgrad = Registry::instance().operation("linear_wgrad");
  Call call{{{DType::f32, {128, 25088}}, {DType::f32, {128, 4096}}}, {}, {}, "classifier.0"};
  call.outputs = wgrad.infer(call);
  EXPECT_DOUBLE_EQ(wgrad.cost(call).flops, 2.0 * 128 * 25088 * 4096);
  EXPECT_EQ(wgrad.cost(call).bytes, 4.0 * (128 * 25088 + 128 * 4096 + 25088.0 * 4096));
}

}  // namespace
}  // namespace lathe::testing
