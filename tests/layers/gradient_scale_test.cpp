// The gradient scale: unscaling before clipping, one norm over all tensors, and non-finite gradients.
#include <cmath>
#include <limits>

#include "tests/layers/harness.h"

namespace lathe::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(),
                 kNaN = std::numeric_limits<double>::quiet_NaN();

double scale(const std::string& kind, const std::vector<Tensor>& gradients, double loss_scale,
             double max_norm) {
  std::vector<Tensor> inputs = gradients;
  inputs.push_back(scalar(loss_scale));
  return run("gradient_scale", kind, inputs, {{"max_norm", max_norm}})[0].values[0];
}

TEST(GradientScale, ClipsAfterUnscaling) {
  for (const std::string& kind : Registry::instance().kinds("gradient_scale")) {
    Tensor g = tensor({2}, {3 * 1024, 4 * 1024});  // the true gradient is [3, 4]
    double clipped = scale(kind, {g}, 1024, 1);
    EXPECT_NEAR(clipped * g.values[0], 0.6, 1e-6);
    EXPECT_NEAR(clipped * g.values[1], 0.8, 1e-6);
    EXPECT_EQ(scale(kind, {g}, 1024, 10), 1.0 / 1024);
    EXPECT_EQ(scale(kind, {g}, 1024, 0), 1.0 / 1024);
    EXPECT_EQ(scale(kind, {filled({5}, 0)}, 1024, 1), 1.0 / 1024);  // no 0/0
  }
}

TEST(GradientScale, TheNormIsOverAllTensors) {
  for (const std::string& kind : Registry::instance().kinds("gradient_scale"))
    EXPECT_NEAR(scale(kind, {tensor({1}, {3}), tensor({1, 1}, {4})}, 1, 1), 0.2, 1e-7);
}

TEST(GradientScale, OneBadElementAnywhereSkipsTheStep) {
  for (const std::string& kind : Registry::instance().kinds("gradient_scale")) {
    for (double bad : {kInf, -kInf, kNaN}) {
      for (int64_t at : {0, 31, 32, 4095, 4096, 8999}) {
        Tensor g = random({9000}, 1);
        g.values[at] = bad;
        for (double max_norm : {0.0, 1.0})
          EXPECT_TRUE(std::isnan(scale(kind, {random({7}, 2), g}, 8, max_norm))) << at;
      }
    }
    for (double bad : {0.0, -1.0, kInf, kNaN})
      EXPECT_TRUE(std::isnan(scale(kind, {filled({3}, 1)}, bad, 1))) << bad;
  }
}

TEST(GradientScale, LargeFiniteGradientsHaveAFiniteNorm) {
  for (const std::string& kind : Registry::instance().kinds("gradient_scale"))
    EXPECT_NEAR(scale(kind, {filled({4}, 1e30)}, 1, 1) * 1e30, 0.5, 1e-5);  // 1e60 is no float
}

TEST(GradientScale, ImplementationsAgreeOnEveryLength) {
  for (int64_t n : {1, 3, 31, 32, 33, 4095, 4096, 4097, 300000})
    expect_agree("gradient_scale", {random({n}, 1), random({5, 3, 3, 3}, 2), scalar(4)}, {{"max_norm", 0.01}},
                 {1e-6, 0});
}

TEST(GradientScale, RefusesWhatDoesNotFit) {
  expect_refused("gradient_scale", {filled({2}, 1), scalar(1)}, {{"max_norm", -1.0}}, "norm");
  expect_refused("gradient_scale", {scalar(1)}, {{"max_norm", 1.0}}, "at least one");
  expect_refused("gradient_scale", {filled({2}, 1), filled({2}, 1)}, {{"max_norm", 1.0}}, "scalar");
  expect_refused("gradient_scale", {filled({2}, 1, DType::f16), scalar(1)}, {{"max_norm", 1.0}}, "f32");
}

}  // namespace
}  // namespace lathe::testing
