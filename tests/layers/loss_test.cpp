// Softmax, cross-entropy and top-1: extremes of the logits, smoothing, values that are not finite, bad
// labels.
#include <cmath>

#include "tests/layers/harness.h"

namespace lathe::testing {
namespace {

const double kNaN = std::nan("");

Attributes smoothing(double value = 0) { return {{"smoothing", value}}; }

double loss(const std::string& kind, const std::vector<double>& logits, int64_t label, double smooth = 0) {
  Tensor x = tensor({1, static_cast<int64_t>(logits.size())}, logits);
  Tensor y = tensor({1}, {static_cast<double>(label)}, DType::i32);
  return run("softmax_cross_entropy", kind, {x, y}, smoothing(smooth))[0].values[0];
}

std::vector<double> loss_gradient(const std::string& kind, const std::vector<double>& logits, int64_t label) {
  Tensor x = tensor({1, static_cast<int64_t>(logits.size())}, logits);
  Tensor y = tensor({1}, {static_cast<double>(label)}, DType::i32);
  return run("softmax_cross_entropy_gradient", kind, {x, y, filled({1}, 1)}, smoothing())[0].values;
}

TEST(CrossEntropy, ExtremesComeOutExactly) {
  for (const std::string& kind : Registry::instance().kinds("softmax_cross_entropy")) {
    SCOPED_TRACE(kind);
    EXPECT_EQ(loss(kind, {1000, 0}, 0), 0);
    EXPECT_EQ(loss(kind, {1000, 0}, 1), 1000);
    EXPECT_EQ(loss(kind, {-431, 279, 427}, 0), 858);
    EXPECT_EQ(loss_gradient(kind, {-431, 279, 427}, 0), (std::vector<double>{-1, 0, 1}));
    EXPECT_EQ(loss(kind, {0, -100}, 1), 100);
    EXPECT_NEAR(loss(kind, {1e8, 1e8}, 0), 0.6931472, 1e-6);
    EXPECT_NEAR(loss(kind, std::vector<double>(10, -1e4), 3), 2.302585, 1e-5);
    EXPECT_NEAR(loss(kind, {88.8, -88.8, 100}, 1), 188.8, 1e-3);
    EXPECT_NEAR(loss(kind, {2, 1, 0}, 0, 0.1), 0.507606, 1e-6);
    EXPECT_NEAR(loss(kind, {2, 1, 0}, 0), 0.407606, 1e-6);
  }
}

TEST(CrossEntropy, ALogitThatIsNotFiniteIsSeen) {
  for (const std::string& kind : Registry::instance().kinds("softmax_cross_entropy")) {
    for (double bad : {kNaN, HUGE_VAL, -HUGE_VAL}) {
      for (int64_t label : {0, 1, 2}) {
        EXPECT_TRUE(std::isnan(loss(kind, {1, bad, 2}, label))) << kind << " " << bad;
        for (double g : loss_gradient(kind, {1, bad, 2}, label))
          EXPECT_TRUE(std::isnan(g)) << kind << " " << bad;
      }
    }
    for (int64_t label : {-1, 3}) {
      EXPECT_TRUE(std::isnan(loss(kind, {1, 2, 3}, label))) << kind << " label " << label;
      EXPECT_TRUE(std::isnan(loss_gradient(kind, {1, 2, 3}, label)[0])) << kind << " label " << label;
    }
  }
}

TEST(CrossEntropy, EqualsPyTorch) {  // golden/make_pooling_and_norm.py
  Tensor x = tensor({2, 3}, {1, 2, -1, 0.5, -3, 4}), y = tensor({2}, {2, 0}, DType::i32);
  for (const std::string& kind : Registry::instance().kinds("softmax_cross_entropy")) {
    expect_close(run("softmax_cross_entropy", kind, {x, y}, smoothing(0.1))[0],
                 tensor({2}, {3.182345, 3.530635}));
    Tensor dx = run("softmax_cross_entropy_gradient", kind, {x, y, tensor({2}, {1, 0.5})}, smoothing(0.1))[0];
    expect_close(dx, tensor({2, 3}, {0.2261631, 0.6720512, -0.8982143, -0.4520235, -0.01622448, 0.468248}),
                 1e-5, 1e-6);
  }
}

TEST(CrossEntropy, EveryImplementationAgreesAndHasItsGradient) {
  for (auto [rows, classes] :
       {std::pair<int64_t, int64_t>{1, 1}, {3, 2}, {5, 7}, {9, 33}, {2, 1000}, {130, 6}}) {
    Tensor x = random({rows, classes}, 1, -8, 8), y = integers({rows}, 2, 0, classes), d = random({rows}, 3);
    for (double s : {0.0, 0.1, 1.0}) {
      expect_agree("softmax_cross_entropy", {x, y}, smoothing(s), {1e-5, 2e-6});
      expect_agree("softmax_cross_entropy_gradient", {x, y, d}, smoothing(s), {1e-5, 1e-6});
    }
    expect_agree("softmax", {x});
    expect_agree("correct", {x, y}, {}, {0, 0});
  }
  Tensor x = random({3, 5}, 1, -2, 2), y = integers({3}, 2, 0, 5);
  check_gradient("softmax_cross_entropy", {x, y}, smoothing(0.1), {true, false});
  check_gradient("softmax", {x}, {}, {true});
}

TEST(CrossEntropy, RefusesWhatDoesNotFit) {
  Tensor x = random({2, 3}, 1), y = integers({2}, 1, 0, 3);
  expect_refused("softmax_cross_entropy", {x, integers({3}, 1, 0, 3)}, smoothing(), "labels");
  expect_refused("softmax_cross_entropy", {x, filled({2}, 0)}, smoothing(), "labels");
  expect_refused("softmax_cross_entropy", {random({2, 0}, 1), y}, smoothing(), "[N, K]");
  expect_refused("softmax_cross_entropy", {x, y}, smoothing(1.5), "smoothing");
  expect_refused("softmax_cross_entropy", {x, y}, smoothing(kNaN), "smoothing");
}

TEST(Softmax, LargeLogitsAndNaN) {
  for (const std::string& kind : Registry::instance().kinds("softmax")) {
    expect_close(run("softmax", kind, {tensor({2, 2}, {1000, 0, -1e30, -1e30})})[0],
                 tensor({2, 2}, {1, 0, 0.5, 0.5}));
    Tensor p = run("softmax", kind, {tensor({2, 3}, {1, kNaN, 2, 0, 0, 0})})[0];
    for (int k = 0; k < 3; ++k) EXPECT_TRUE(std::isnan(p.values[k])) << kind;
    EXPECT_NEAR(p.values[3], 1.0 / 3, 1e-6);
  }
}

TEST(Correct, TheFirstMaximumCountsAndNaNIsWrong) {
  Tensor x = tensor({6, 3}, {1, 3, 3, 1, 3, 3, 2, 2, 2, kNaN, 5, 1, 1, 5, kNaN, 0, 1, 2});
  Tensor y = tensor({6}, {1, 2, 0, 1, 1, 7}, DType::i32);
  for (const std::string& kind : Registry::instance().kinds("correct")) {
    expect_same(run("correct", kind, {x, y})[0], tensor({6}, {1, 0, 1, 0, 0, 0}), kind);
  }
}

}  // namespace
}  // namespace lathe::testing
