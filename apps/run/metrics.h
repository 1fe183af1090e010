// How good a classifier is: accuracy with its uncertainty, per-class figures, calibration.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lathe {

struct Interval {
  double low = 0, high = 1;
};

// 95 % interval of a proportion (Wilson 1927); 0 … 1 where total is 0.
Interval wilson_interval(int64_t correct, int64_t total);

// A mean over samples, whatever the batches were.
class SampleMean {
 public:
  void add(double batch_mean, int64_t samples) {
    sum_ += batch_mean * static_cast<double>(samples), count_ += samples;
  }
  int64_t count() const { return count_; }
  double value() const;  // Error(data) where there was no sample: 0 would look like a perfect loss

 private:
  double sum_ = 0;
  int64_t count_ = 0;
};

struct ClassMetrics {
  int64_t support = 0, predicted = 0, correct = 0;  // samples of the class, predictions of it, both
  double precision = 0, recall = 0, f1 = 0;         // 0 where there is nothing to divide by, as scikit-learn
};

class ConfusionMatrix {
 public:
  explicit ConfusionMatrix(int64_t classes);   // Error(data) unless 1 … 65536
  void add(int64_t truth, int64_t predicted);  // Error(data) for a label outside the classes
  int64_t classes() const { return classes_; }
  int64_t count(int64_t truth, int64_t predicted) const { return counts_[truth * classes_ + predicted]; }
  int64_t correct() const;
  int64_t total() const;
  std::vector<ClassMetrics> per_class() const;

 private:
  int64_t classes_;
  std::vector<int64_t> counts_;  // [truth, predicted]
};

struct CalibrationBin {
  int64_t count = 0;
  double confidence = 0, accuracy = 0;  // means of the bin; 0 where it is empty
};
struct Calibration {
  std::vector<CalibrationBin> bins;  // equal widths over 0 … 1; a bin holds its upper edge
  double expected_error = 0;         // expected calibration error (Guo et al. 2017, eq. 3)
};
// `confidence`: the probability of the predicted class; `correct`: 1 where the prediction was right.
Calibration calibrate(std::span<const float> confidence, std::span<const uint8_t> correct, int bins = 15);

// Whether `target` is among the k highest scores; true where k ≥ classes. Equal scores rank in class order,
// as argmax does; a NaN score ranks above all, so that a diverged network is never right by accident.
bool in_top_k(std::span<const float> scores, int64_t target, int64_t k);

}  // namespace lathe
