#include "apps/training/inference_model.h"

#include "layers/augment/augment_options.h"

namespace lathe {

ModelSpec read_model_spec(const std::string& weights) {
  return ModelSpec::from_metadata(SafetensorsFile::open(weights).metadata(), weights);
}

InferenceModel::InferenceModel(const ModelSpec& model, const std::string& weights, const Options& options,
                               int64_t height, int64_t width, int64_t batch) {
  StepSpec spec;
  spec.model = model;
  spec.stage_height = height;
  spec.stage_width = width;
  spec.augment = augment_attributes(AugmentOptions{}, parse_normalize(model.normalize), model.image_size,
                                    model.image_size);
  std::vector<Parameter> parameters = model_parameters(model);
  initialise(state_, parameters, 0);
  load_weights(state_, parameters, weights, false);
  evaluator_ = std::make_unique<Evaluator>(spec, options, state_, std::make_shared<Arena>(), batch);
  evaluator_->bind();
}

}  // namespace lathe
