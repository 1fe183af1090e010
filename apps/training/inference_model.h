// Saved weights, ready to look at pictures: what evaluate and predict share.
#pragma once

#include <memory>
#include <string>

#include "apps/training/evaluator.h"

namespace lathe {

// The model that a weights file describes. Throws Error(data) for a file that lathe did not save.
ModelSpec read_model_spec(const std::string& weights);

class InferenceModel {
 public:
  // Pictures come at height × width. `batch`: pictures computed at once, 0 for a suitable number.
  InferenceModel(const ModelSpec& spec, const std::string& weights, const Options& options, int64_t height,
                 int64_t width, int64_t batch);

  EvaluationResult run(const StagedSet& set, int workers) { return evaluator_->run(set, workers); }

 private:
  State state_;
  std::unique_ptr<Evaluator> evaluator_;
};

}  // namespace lathe
