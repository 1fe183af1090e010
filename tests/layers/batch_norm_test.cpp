// Batch norm: statistics that survive large means, PyTorch's running statistics and gradient
// (golden/make_pooling_and_norm.py), every implementation in all layouts.
#include <cmath>

#include "tests/layers/harness.h"

namespace lathe::testing {
namespace {

Attributes training(double epsilon = 1e-5, double momentum = 0.1) {
  return {{"epsilon", epsilon}, {"momentum", momentum}};
}
Attributes epsilon(double value = 1e-5) { return {{"epsilon", value}}; }

// x with gamma 1, beta 0 and fresh running statistics.
std::vector<Tensor> plain(const Tensor& x) {
  Shape c{x.type.shape[1]};
  return {x, filled(c, 1), filled(c, 0), filled(c, 0), filled(c, 1)};
}

TEST(BatchNorm, SurvivesALargeMean) {
  Tensor x = tensor({1, 1, 1, 4}, {10000, 10001, 10002, 10003});
  for (const std::string& kind : Registry::instance().kinds("batch_norm")) {
    auto y = run("batch_norm", kind, plain(x), training());
    expect_close(y[0], tensor({1, 1, 1, 4}, {-1.341635, -0.447212, 0.447212, 1.341635}), 1e-5, 1e-5, kind);
    expect_close(y[2], tensor({1}, {1.25}), 1e-5, 0, kind);
    y = run("batch_norm", kind, plain(filled({2, 1, 5, 5}, 100)), training());
    expect_close(y[0], filled({2, 1, 5, 5}, 0), 0, 1e-4, kind);
  }
}

TEST(BatchNorm, MovesTheRunningStatisticsAsPyTorchDoes) {
  Tensor x = tensor({4, 1}, {1, 2, 3, 4}), dy = tensor({4, 1}, {1, 0, 0, 0}), one = filled({1}, 1);
  for (const std::string& kind : Registry::instance().kinds("batch_norm")) {
    auto y = run("batch_norm", kind, plain(x), training());
    expect_close(y[1], tensor({1}, {2.5}), 1e-6, 0, kind);
    expect_close(y[3], tensor({1}, {0.25}), 1e-6, 0, kind);
    expect_close(y[4], tensor({1}, {1.0666667}), 1e-6, 0, kind);
    auto g = run("batch_norm_gradient", kind, {x, dy, one, y[1], y[2]}, epsilon());
    expect_close(g[0], tensor({4, 1}, {0.268330, -0.357768, -0.089443, 0.178882}), 0, 2e-6, kind);
  }
}

TEST(BatchNorm, EqualsPyTorch) {
  Tensor x = tensor({4, 2}, {1, 10, 2, 30, 4, -20, 8, 5}), dy = tensor({4, 2}, {1, 0, 0, 2, -1, 1, 3, 0});
  Tensor gamma = tensor({2}, {2, -1}), beta = tensor({2}, {0.5, 1});
  for (const std::string& kind : Registry::instance().kinds("batch_norm")) {
    auto y = run("batch_norm", kind, {x, gamma, beta, filled({2}, 0), filled({2}, 1)}, training());
    expect_close(y[0],
                 tensor({4, 2}, {-1.551509, 0.7894412, -0.8055059, -0.3335386, 0.6865008, 2.473911, 3.670514,
                                 1.070186}),
                 1e-5, 1e-6, kind);
    expect_close(y[3], tensor({2}, {0.375, 0.625}), 1e-6, 0, kind);
    expect_close(y[4], tensor({2}, {1.858333, 43.19167}), 1e-6, 0, kind);
    auto g = run("batch_norm_gradient", kind, {x, dy, gamma, y[1], y[2]}, epsilon());
    expect_close(g[0],
                 tensor({4, 2}, {0.8822291, 0.04563834, -0.1167664, -0.04785111, -1.368754, -0.03872344,
                                 0.6032912, 0.04093621}),
                 1e-5, 1e-6, kind);
    expect_close(g[1], tensor({2}, {3.636766, 1.193166}), 1e-5, 0, kind);
    expect_close(g[2], tensor({2}, {3, 3}), 1e-6, 0, kind);
  }
}

TEST(BatchNorm, InferenceUsesTheRunningStatistics) {
  for (const std::string& kind : Registry::instance().kinds("batch_norm_inference")) {
    Tensor y =
        run("batch_norm_inference", kind,
            {filled({1, 1, 1, 1}, 300), filled({1}, 1), filled({1}, 0), filled({1}, 0), filled({1}, 90000)},
            epsilon())[0];
    expect_close(y, filled({1, 1, 1, 1}, 1), 1e-6, 0, kind);
    y = run("batch_norm_inference", kind,
            {filled({1, 1, 1, 1}, 5), filled({1}, 4), filled({1}, 0), filled({1}, 1), filled({1}, 9)},
            epsilon())[0];
    expect_close(y, filled({1, 1, 1, 1}, 5.33333), 1e-5, 0, kind);
  }
}

TEST(BatchNorm, OneValueAChannelIsRefusedWhileTraining) {
  expect_refused("batch_norm", plain(random({1, 3, 1, 1}, 1)), training(), "more than one value a channel");
  expect_refused("batch_norm", plain(random({1, 3}, 1)), training(), "more than one value a channel");
  call_for("batch_norm", plain(random({1, 3, 4, 4}, 1)), training());
  expect_refused("batch_norm",
                 {random({2, 3}, 1), filled({2}, 1), filled({3}, 1), filled({3}, 1), filled({3}, 1)},
                 training(), "operand 1");
}

TEST(BatchNorm, EveryImplementationAgrees) {
  for (const Shape& shape : {Shape{2, 16, 3, 5}, Shape{7, 33}, Shape{3, 5, 7, 1}, Shape{1, 48, 4, 4},
                             Shape{2, 1, 1, 1}, Shape{40, 16, 2, 2}, Shape{2, 40, 17, 17}}) {
    Shape c{shape[1]};
    Tensor x = random(shape, 1, -2, 3), gamma = random(c, 2), beta = random(c, 3), mean = random(c, 4);
    Tensor variance = random(c, 5, 0.1, 2), dy = random(shape, 6);
    expect_agree("batch_norm", {x, gamma, beta, mean, variance}, training(1e-3, 0.3), {1e-4, 1e-5});
    expect_agree("batch_norm_gradient", {x, dy, gamma, mean, variance}, epsilon(1e-3), {1e-4, 2e-5});
    expect_agree("batch_norm_inference", {x, gamma, beta, mean, variance}, epsilon(1e-3), {1e-5, 1e-5});
  }
}

TEST(BatchNorm, GradientsAreFiniteDifferences) {
  Shape c{2};
  std::vector<Tensor> inputs = {random({3, 2, 2, 2}, 1), random(c, 2), random(c, 3), random(c, 4),
                                random(c, 5, 0.5, 2)};
  check_gradient("batch_norm", inputs, training(1e-2), {true, true, true, false, false},
                 {.tolerance = {5e-3, 5e-3}, .differentiable = {true, false, false, false, false}});
  check_gradient("batch_norm_inference", inputs, epsilon(1e-2), {true, true, true, false, false});
}

TEST(BatchNorm, NaNStaysInItsChannel) {
  Tensor x = random({2, 2, 3, 3}, 1);
  x.values[1] = std::nan("");
  for (const std::string& kind : Registry::instance().kinds("batch_norm")) {
    auto y = run("batch_norm", kind, plain(x), training());
    EXPECT_TRUE(std::isnan(y[1].values[0]) && std::isnan(y[4].values[0])) << kind;
    EXPECT_TRUE(std::isfinite(y[1].values[1]) && std::isfinite(y[4].values[1])) << kind;
    EXPECT_TRUE(std::isnan(y[0].values[0])) << kind;
  }
}

}  // namespace
}  // namespace lathe::testing
