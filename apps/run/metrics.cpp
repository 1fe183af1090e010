// Counts are exact integers; only the last division is floating point.
#include "apps/run/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/runtime/error.h"

namespace lathe {

namespace {

double ratio(int64_t part, int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

Interval wilson_interval(int64_t correct, int64_t total) {
  if (total <= 0) return {0, 1};
  constexpr double z = 1.959963984540054;  // the normal distribution's 97.5 % point
  const auto n = static_cast<double>(total);
  const double p = static_cast<double>(correct) / n;
  const double centre = p + z * z / (2 * n);
  const double half = z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  const double scale = 1 + z * z / n;
  return {std::max(0.0, (centre - half) / scale), std::min(1.0, (centre + half) / scale)};
}

double SampleMean::value() const {
  if (count_ == 0) throw Error(ExitCode::data, "no sample to take a mean of: the data set is empty");
  return sum_ / static_cast<double>(count_);
}

ConfusionMatrix::ConfusionMatrix(int64_t classes) : classes_(classes) {
  if (classes < 1 || classes > 65536) {
    throw Error(ExitCode::data,
                fmt::format("a confusion matrix of {} classes is not supported (1 to 65536)", classes));
  }
  counts_.resize(static_cast<size_t>(classes * classes));
}

void ConfusionMatrix::add(int64_t truth, int64_t predicted) {
  if (truth < 0 || truth >= classes_ || predicted < 0 || predicted >= classes_) {
    throw Error(ExitCode::data, fmt::format("label {} or prediction {} is outside the {} classes", truth,
                                            predicted, classes_));
  }
  ++counts_[truth * classes_ + predicted];
}

int64_t ConfusionMatrix::correct() const {
  int64_t sum = 0;
  for (int64_t c = 0; c < classes_; ++c) sum += count(c, c);
  return sum;
}

int64_t ConfusionMatrix::total() const { return std::accumulate(counts_.begin(), counts_.end(), int64_t{0}); }

std::vector<ClassMetrics> ConfusionMatrix::per_class() const {
  std::vector<ClassMetrics> all(classes_);
  for (int64_t t = 0; t < classes_; ++t) {
    for (int64_t p = 0; p < classes_; ++p) {
      all[t].support += count(t, p);
      all[p].predicted += count(t, p);
    }
    all[t].correct = count(t, t);
  }
  for (ClassMetrics& one : all) {
    one.precision = ratio(one.correct, one.predicted);
    one.recall = ratio(one.correct, one.support);
    one.f1 = ratio(2 * one.correct, one.predicted + one.support);
  }
  return all;
}

Calibration calibrate(std::span<const float> confidence, std::span<const uint8_t> correct, int bins) {
  if (confidence.size() != correct.size() || bins < 1) {
    throw Error(ExitCode::failure, fmt::format("calibration of {} confidences and {} outcomes in {} bins",
                                               confidence.size(), correct.size(), bins));
  }
  Calibration result;
  result.bins.resize(bins);
  for (size_t i = 0; i < confidence.size(); ++i) {
    if (!std::isfinite(confidence[i]))
      throw Error(ExitCode::not_finite, "a predicted probability is not finite");
    const double c = std::clamp<double>(confidence[i], 0, 1);
    CalibrationBin& bin = result.bins[std::clamp(static_cast<int>(std::ceil(c * bins)) - 1, 0, bins - 1)];
    ++bin.count;
    bin.confidence += c;
    bin.accuracy += correct[i] != 0 ? 1 : 0;
  }
  for (CalibrationBin& bin : result.bins) {
    if (bin.count == 0) continue;
    result.expected_error += std::abs(bin.confidence - bin.accuracy) / static_cast<double>(confidence.size());
    bin.confidence /= static_cast<double>(bin.count);
    bin.accuracy /= static_cast<double>(bin.count);
  }
  return result;
}

bool in_top_k(std::span<const float> scores, int64_t target, int64_t k) {
  const auto classes = static_cast<int64_t>(scores.size());
  if (target < 0 || target >= classes) {
    throw Error(ExitCode::data, fmt::format("label {} is outside the {} classes", target, classes));
  }
  if (k >= classes) return true;
  if (std::isnan(scores[target])) return false;
  int64_t ahead = 0;
  for (int64_t c = 0; c < classes; ++c) {
    ahead +=
        std::isnan(scores[c]) || scores[c] > scores[target] || (scores[c] == scores[target] && c < target)
            ? 1
            : 0;
  }
  return ahead < k;
}

}  // namespace lathe
