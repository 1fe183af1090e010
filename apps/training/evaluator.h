// Evaluation: a pure function of weights and pictures. Never augmented, nothing updated, and the same bytes
// whatever the batch size and the number of workers.
#pragma once

#include <memory>
#include <vector>

#include "apps/run/metrics.h"
#include "apps/training/session.h"

namespace lathe {

struct EvaluationResult {
  std::vector<int32_t> labels;       // [N]
  std::vector<float> losses;         // [N]
  std::vector<float> probabilities;  // [N, classes]
  int64_t classes = 0;

  int64_t samples() const { return static_cast<int64_t>(labels.size()); }
  // The first class with the highest probability.
  int32_t predicted(int64_t sample) const;
  int64_t correct() const;
  double loss() const;  // mean over the samples, in double
};

// What reports and tables say of a result.
struct Assessment {
  ConfusionMatrix confusion;
  Calibration calibration;
  int64_t top5 = 0;  // samples whose class is among the five most probable
};
Assessment assess(const EvaluationResult& result);

class Evaluator {
 public:
  // `spec.augment` is the evaluation's: normalisation only. `batch` 0 picks one that suits the picture size.
  Evaluator(const StepSpec& spec, const Options& options, State& state, std::shared_ptr<Arena> arena,
            int64_t batch = 0);

  int64_t arena_bytes() const { return program_.memory.packing.peak; }
  int64_t buffer_bytes() const { return 2 * batch_ * spec_.stage_height * spec_.stage_width * 3; }
  const Program& program() const { return program_; }
  void bind();

  // Throws Error(data) where a picture cannot be read any more. `stop` is asked between batches; a stopped
  // evaluation gives fewer samples.
  EvaluationResult run(const StagedSet& set, int workers, const std::function<bool()>& stop = nullptr);

 private:
  StepSpec spec_;
  Options options_;
  State& state_;
  std::shared_ptr<Arena> arena_;
  int64_t batch_;
  Program program_;
  std::unique_ptr<Executable> executable_;
  Stream stream_;
};

}  // namespace lathe
