// Adam and AdamW: PyTorch's numbers, the place of epsilon and of the decay, and the skipped step.
#include <limits>

#include "tests/layers/harness.h"

namespace lathe::testing {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Attributes adam(double beta1, double beta2, double epsilon, double decay, bool decoupled) {
  return {{"beta1", beta1},
          {"beta2", beta2},
          {"epsilon", epsilon},
          {"weight_decay", decay},
          {"decoupled", int64_t{decoupled}}};
}
const Attributes kPlain = adam(0.9, 0.999, 1e-8, 0, false);

Tensor count(int64_t t) { return scalar(static_cast<double>(t), DType::i64); }

// The parameter after one step from m = v = 0.
double first_step(const std::string& kind, double gradient, double lr, const Attributes& attributes) {
  Tensor zero = filled({1}, 0);
  return run("adam", kind,
             {filled({1}, 1), filled({1}, gradient), zero, zero, scalar(lr), count(1), scalar(1)},
             attributes)[0]
      .values[0];
}

TEST(Adam, FirstSteps) {
  for (const std::string& kind : Registry::instance().kinds("adam")) {
    EXPECT_NEAR(first_step(kind, 0.5, 1e-3, kPlain), 0.999, 1e-6);
    EXPECT_NEAR(first_step(kind, 0.5, 1e-3, adam(0.9, 0.999, 0.1, 0, false)), 0.99916667, 1e-6);
    EXPECT_NEAR(first_step(kind, 0, 1e-3, adam(0.9, 0.999, 1e-8, 0.1, true)), 0.9999, 1e-7);
    EXPECT_NEAR(first_step(kind, 0, 1e-3, adam(0.9, 0.999, 1e-8, 0.1, false)), 0.999, 1e-6);
  }
}

TEST(Adam, IsPyTorchs) {
  const std::vector<std::vector<double>> gradients = {{0.5, -1.25, 3}, {0.25, 2, -0.125}, {-0.75, 0, 1.5}};
  struct Case {
    Attributes attributes;
    std::vector<double> expected;
  };
  const std::vector<Case> cases = {
      {adam(0.8, 0.99, 1e-3, 0.1, false), {0.980556786, -1.99314284, 0.476749122}},
      {adam(0.9, 0.999, 1e-8, 0.1, true), {0.978530347, -1.98891878, 0.474871606}}};
  for (const std::string& kind : Registry::instance().kinds("adam")) {
    for (const Case& c : cases) {
      std::vector<Tensor> state{tensor({3}, {1, -2, 0.5}), filled({3}, 0), filled({3}, 0)};
      for (int64_t t = 1; t <= 3; ++t)
        state = run(
            "adam", kind,
            {state[0], tensor({3}, gradients[t - 1]), state[1], state[2], scalar(0.01), count(t), scalar(1)},
            c.attributes);
      expect_close(state[0], tensor({3}, c.expected), 2e-6, 1e-7);
    }
  }
}

TEST(Adam, ASkippedStepChangesNothingAndIsNotCounted) {
  Tensor w = random({17}, 1), m = random({17}, 2), v = random({17}, 3, 0, 1), bad = filled({17}, kNaN);
  for (const std::string& kind : Registry::instance().kinds("adam")) {
    std::vector<Tensor> outputs =
        run("adam", kind, {w, bad, m, v, scalar(0.1), count(1), scalar(kNaN)}, kPlain);
    expect_same(outputs[0], w);
    expect_same(outputs[1], m);
    expect_same(outputs[2], v);
    // The good step after it is still number 1: 0.1, not the 0.0744137 of number 2.
    EXPECT_NEAR(1 - first_step(kind, 0.5, 0.1, kPlain), 0.1, 1e-6);
  }
}

TEST(Adam, ImplementationsAgreeOnEveryLength) {
  for (int64_t n : {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 257, 1000}) {
    for (int64_t t : {1, 2, 10, 100000}) {
      for (bool decoupled : {false, true})
        expect_agree("adam",
                     {random({n}, 1), random({n}, 2), random({n}, 3), random({n}, 4, 0, 1), scalar(1e-3),
                      count(t), scalar(0.5)},
                     adam(0.9, 0.999, 1e-8, 0.01, decoupled), {1e-5, 1e-6});
    }
  }
}

TEST(Adam, WorksOneElementOffAlignment) {
  std::vector<Tensor> inputs{random({33}, 1), random({33}, 2), random({33}, 3), random({33}, 4, 0, 1),
                             scalar(0.05),    count(3),        scalar(0.5)};
  expect_same(run("adam", "handwritten", inputs, kPlain, 1)[0],
              run("adam", "handwritten", inputs, kPlain)[0]);
}

TEST(Adam, RefusesWhatDoesNotFit) {
  Tensor w = random({4}, 1), one = scalar(1);
  expect_refused("adam", {w, w, w, random({5}, 2), one, count(1), one}, kPlain, "input 3");
  expect_refused("adam", {w, w, w, w, one, one, one}, kPlain, "i64 scalar");
  expect_refused("adam", {w, w, w, w, one, one}, kPlain, "7 inputs");
  expect_refused("adam", {w, w, w, w, one, count(1), one}, adam(1, 0.999, 1e-8, 0, false), "beta1");
  expect_refused("adam", {w, w, w, w, one, count(1), one}, adam(0.9, 0.999, 0, 0, false), "epsilon");
}

}  // namespace
}  // namespace lathe::testing
