// Metrics against scikit-learn's and SciPy's values (golden_metrics.py), and the cases that break others.
#include "apps/run/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/runtime/error.h"

namespace lathe {
namespace {

// The generator of golden_metrics.py.
class Draws {
 public:
  uint32_t operator()(uint32_t n) {
    state_ = state_ * 1664525U + 1013904223U;
    return (state_ >> 16) % n;
  }

 private:
  uint32_t state_ = 12345;
};

ConfusionMatrix golden_matrix(Draws& draw) {
  ConfusionMatrix matrix(5);
  for (int i = 0; i < 200; ++i) {
    uint32_t truth = draw(5);
    if (truth == 3) truth = 0;
    const bool right = draw(3) != 0;
    matrix.add(truth, right ? truth : draw(4));
  }
  return matrix;
}

TEST(Metrics, PerClassEqualsScikitLearn) {
  Draws draw;
  const ConfusionMatrix matrix = golden_matrix(draw);
  const int64_t counts[5][5] = {
      {53, 5, 2, 8, 0}, {2, 41, 1, 9, 0}, {2, 4, 31, 2, 0}, {0, 0, 0, 0, 0}, {4, 3, 5, 3, 25}};
  for (int t = 0; t < 5; ++t) {
    for (int p = 0; p < 5; ++p) EXPECT_EQ(matrix.count(t, p), counts[t][p]) << t << p;
  }
  const double golden[5][4] = {{0.86885245901639341, 0.77941176470588236, 0.82170542635658916, 68},
                               {0.77358490566037741, 0.77358490566037741, 0.77358490566037741, 53},
                               {0.79487179487179482, 0.79487179487179482, 0.79487179487179482, 39},
                               {0, 0, 0, 0},
                               {1, 0.625, 0.76923076923076927, 40}};
  const std::vector<ClassMetrics> all = matrix.per_class();
  for (int c = 0; c < 5; ++c) {
    EXPECT_NEAR(all[c].precision, golden[c][0], 1e-12);
    EXPECT_NEAR(all[c].recall, golden[c][1], 1e-12);
    EXPECT_NEAR(all[c].f1, golden[c][2], 1e-12);
    EXPECT_EQ(all[c].support, golden[c][3]);
  }
  EXPECT_EQ(matrix.correct(), 150);
  EXPECT_EQ(matrix.total(), 200);
}

TEST(Metrics, WilsonEqualsSciPy) {
  struct Golden {
    int64_t correct, total;
    double low, high;
  };
  for (const Golden& g :
       {Golden{303, 329, 0.88672673048238204, 0.94550132482494487},
        Golden{317, 329, 0.93733794233774537, 0.97901424852411278}, Golden{0, 10, 0, 0.27753279986288926},
        Golden{10, 10, 0.72246720013711085, 1}, Golden{1, 1, 0.20654931437723745, 1},
        Golden{5, 10, 0.236593090512564, 0.76340690948743606}, Golden{0, 0, 0, 1}}) {
    EXPECT_NEAR(wilson_interval(g.correct, g.total).low, g.low, 1e-12) << g.correct << "/" << g.total;
    EXPECT_NEAR(wilson_interval(g.correct, g.total).high, g.high, 1e-12) << g.correct << "/" << g.total;
  }
}

TEST(Metrics, CalibrationEqualsItsDefinition) {
  Draws draw;
  golden_matrix(draw);  // the script draws it first
  std::vector<float> confidence;
  std::vector<uint8_t> correct;
  for (int i = 0; i < 100; ++i) confidence.push_back(static_cast<float>(draw(1000) + 1) / 1000.0F);
  for (int i = 0; i < 100; ++i) correct.push_back(draw(4) > 0 ? 1 : 0);
  EXPECT_NEAR(calibrate(confidence, correct, 10).expected_error, 0.26896999960765239, 1e-9);

  const Calibration edges = calibrate(std::vector<float>{0.0F, 0.5F, 1.0F}, std::vector<uint8_t>{0, 1, 1}, 2);
  EXPECT_EQ(edges.bins[0].count, 2);
  EXPECT_EQ(edges.bins[1].count, 1);
  EXPECT_NEAR(edges.expected_error, (2 * 0.25) / 3, 1e-12);
  EXPECT_EQ(calibrate({}, {}, 10).expected_error, 0.0);
  EXPECT_THROW(calibrate(std::vector<float>{std::nanf("")}, std::vector<uint8_t>{0}), Error);
  EXPECT_THROW(calibrate(std::vector<float>{0.5F}, {}), Error);
}

TEST(Metrics, MeansAreOverSamplesForEveryBatchSize) {
  const std::vector<double> losses{1, 1, 1, 1, 1, 1, 1, 1, 5, 5};
  for (const size_t batch : {1, 2, 3, 4, 7, 10, 16}) {
    SampleMean mean;
    for (size_t at = 0; at < losses.size(); at += batch) {
      const size_t n = std::min(batch, losses.size() - at);
      double sum = 0;
      for (size_t i = 0; i < n; ++i) sum += losses[at + i];
      mean.add(sum / static_cast<double>(n), static_cast<int64_t>(n));
    }
    EXPECT_NEAR(mean.value(), 1.8, 1e-12) << batch;
    EXPECT_EQ(mean.count(), 10);
  }
  EXPECT_THROW(SampleMean().value(), Error);
}

TEST(Metrics, TopKWithFewClassesTiesAndNaN) {
  const std::vector<float> three{0.1F, 0.7F, 0.2F};
  for (int target = 0; target < 3; ++target) EXPECT_TRUE(in_top_k(three, target, 5));
  EXPECT_TRUE(in_top_k(three, 1, 1));
  EXPECT_FALSE(in_top_k(three, 2, 1));
  EXPECT_TRUE(in_top_k(three, 2, 2));
  const std::vector<float> equal(4, 0.25F);
  EXPECT_TRUE(in_top_k(equal, 0, 1));
  EXPECT_FALSE(in_top_k(equal, 1, 1));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(in_top_k(std::vector<float>{nan, nan, nan}, 0, 1));
  EXPECT_FALSE(in_top_k(std::vector<float>{nan, 1.0F}, 1, 1));
  EXPECT_THROW(in_top_k(three, 3, 1), Error);
  EXPECT_THROW(in_top_k(three, -1, 1), Error);
}

TEST(Metrics, LabelsOutsideTheClassesAreRefused) {
  ConfusionMatrix matrix(3);
  EXPECT_THROW(matrix.add(3, 0), Error);
  EXPECT_THROW(matrix.add(0, -1), Error);
  EXPECT_EQ(matrix.total(), 0);
  EXPECT_THROW(ConfusionMatrix(0), Error);
  EXPECT_THROW(ConfusionMatrix(int64_t{1} << 40), Error);
}

}  // namespace
}  // namespace lathe
