// The model of a run: which VGG16, for which classes, on which input; its parameters in a State and in files.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "apps/models/vgg.h"
#include "engine/runtime/safetensors.h"
#include "engine/runtime/state.h"

namespace lathe {

// All that prediction needs besides the weights; stored in every weights file as metadata.
struct ModelSpec {
  VggOptions vgg;
  int64_t image_size = 32;
  std::string normalize = "cifar10";  // as --normalize takes it
  std::string fit = "crop";           // how pictures are brought to the stage: see datasets/resize.h
  std::vector<std::string> classes;   // in label order

  std::map<std::string, std::string> metadata() const;
  // Throws Error(data) naming `path` where the metadata is missing or does not make sense.
  static ModelSpec from_metadata(const std::map<std::string, std::string>& metadata, const std::string& path);
};

// Which layers --freeze keeps fixed: "none", "features", or the first `first` convolutions and linear layers,
// with the batch norms that follow them.
Builder::Frozen frozen_layers(const std::string& freeze, int first, const ModelSpec& spec);

// Every parameter and running statistic of the model, in the order of its layers.
std::vector<Parameter> model_parameters(const ModelSpec& spec, const Builder::Frozen& frozen = nullptr);

// Fills the state with the starting values of each parameter, which depend on (seed, position in the list)
// alone.
void initialise(State& state, const std::vector<Parameter>& parameters, uint64_t seed);

// Copies weights from a file into the state. Strict: throws Error(usage) listing missing, unexpected and
// mis-shaped tensors. `new_head`: tensors named classifier.* are left as they are. Understands torchvision's
// names and timm's (pre_logits.fc1, head.fc).
void load_weights(State& state, const std::vector<Parameter>& parameters, const std::filesystem::path& path,
                  bool new_head);

}  // namespace lathe
