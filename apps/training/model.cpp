#include "apps/training/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numbers>
#include <set>

#include "engine/runtime/error.h"
#include "kernels/random/philox.h"

namespace lathe {
namespace {

// Standard normal numbers by Box and Muller, two from each pair of words.
std::vector<float> normal(uint64_t seed, uint64_t index, int64_t count, double deviation) {
  using namespace kernels;
  std::vector<float> values(static_cast<size_t>(count));
  uint64_t stream = random_stream(RandomUse::init, index, 0);
  for (int64_t i = 0; i < count; i += 4) {
    Philox4 words = philox(seed, stream, static_cast<uint64_t>(i / 4));
    for (int pair = 0; pair < 2; ++pair) {
      double radius = std::sqrt(-2.0 * std::log((words[2 * pair] + 0.5) / 4294967296.0));
      double angle = 2.0 * std::numbers::pi * (words[2 * pair + 1] / 4294967296.0);
      double both[2] = {radius * std::cos(angle), radius * std::sin(angle)};
      for (int k = 0; k < 2; ++k) {
        int64_t at = i + 2 * pair + k;
        if (at < count) values[static_cast<size_t>(at)] = static_cast<float>(deviation * both[k]);
      }
    }
  }
  return values;
}

std::vector<float> starting_values(const Parameter& parameter, uint64_t seed, uint64_t index) {
  const Shape& shape = parameter.type.shape;
  int64_t count = shape.elements();
  switch (parameter.init) {
    case Init::zeros:
      return std::vector<float>(static_cast<size_t>(count), 0.0f);
    case Init::ones:
      return std::vector<float>(static_cast<size_t>(count), 1.0f);
    case Init::he_fan_out:
      return normal(seed, index, count,
                    std::sqrt(2.0 * static_cast<double>(shape[1]) / static_cast<double>(count)));
    case Init::he_fan_in:
      return normal(seed, index, count, std::sqrt(2.0 / static_cast<double>(shape[1])));
    case Init::small:
      return normal(seed, index, count, 0.01);
  }
  throw std::logic_error("unknown initialisation");
}

// What other programs call our tensors; "" where the name is nobody's.
std::string torchvision_name(const std::string& name) {
  static const std::map<std::string, std::string> kTimm = {
      {"pre_logits.fc1", "classifier.0"}, {"pre_logits.fc2", "classifier.3"}, {"head.fc", "classifier.6"}};
  for (const auto& [theirs, ours] : kTimm) {
    if (name.rfind(theirs + ".", 0) == 0) return ours + name.substr(theirs.size());
  }
  return name;
}

bool ends_with(const std::string& text, const std::string& tail) {
  return text.size() >= tail.size() && text.compare(text.size() - tail.size(), tail.size(), tail) == 0;
}

bool is_head(const std::string& name) { return name.rfind("classifier.", 0) == 0; }

// timm writes its linear layers as convolutions: the same elements under [4096, 512, 7, 7].
bool same_elements(const std::vector<int64_t>& file, const Shape& model) {
  if (Shape(file) == model) return true;
  if (file.size() != 4 || model.rank() != 2 || file[0] != model[0]) return false;
  return file[1] * file[2] * file[3] == model[1];
}

}  // namespace

std::map<std::string, std::string> ModelSpec::metadata() const {
  nlohmann::json names = classes;
  return {{"lathe.model", vgg.batch_norm ? "vgg16_bn" : "vgg16"},
          {"lathe.head", vgg.head == Head::classic ? "classic" : "linear"},
          {"lathe.width", fmt::format("{}", vgg.width)},
          {"lathe.dropout", fmt::format("{}", vgg.dropout)},
          {"lathe.image_size", std::to_string(image_size)},
          {"lathe.normalize", normalize},
          {"lathe.fit", fit},
          {"lathe.classes", names.dump()}};
}

ModelSpec ModelSpec::from_metadata(const std::map<std::string, std::string>& metadata,
                                   const std::string& path) {
  auto get = [&](const std::string& key) -> const std::string& {
    auto found = metadata.find("lathe." + key);
    if (found == metadata.end()) {
      throw Error(ExitCode::data,
                  fmt::format("{}: no '{}' in its metadata: these are not weights that lathe saved; "
                              "train with --init {} first",
                              path, key, path));
    }
    return found->second;
  };
  ModelSpec spec;
  try {
    spec.vgg.batch_norm = get("model") == "vgg16_bn";
    spec.vgg.head = get("head") == "classic" ? Head::classic : Head::linear;
    spec.vgg.width = nlohmann::json::parse(get("width")).get<double>();
    spec.vgg.dropout = nlohmann::json::parse(get("dropout")).get<double>();
    spec.image_size = nlohmann::json::parse(get("image_size")).get<int64_t>();
    spec.normalize = get("normalize");
    spec.fit = get("fit");
    spec.classes = nlohmann::json::parse(get("classes")).get<std::vector<std::string>>();
    spec.vgg.classes = static_cast<int64_t>(spec.classes.size());
  } catch (const nlohmann::json::exception& error) {
    throw Error(ExitCode::data, fmt::format("{}: its metadata cannot be read: {}", path, error.what()));
  }
  bool sane = spec.vgg.width > 0 && spec.vgg.width <= 8 && spec.image_size >= 32 && spec.image_size <= 4096 &&
              !spec.classes.empty();
  if (!sane) throw Error(ExitCode::data, fmt::format("{}: its metadata does not describe a model", path));
  return spec;
}

Builder::Frozen frozen_layers(const std::string& freeze, int first, const ModelSpec& spec) {
  if (freeze == "features") return [](const std::string& layer) { return layer.rfind("features.", 0) == 0; };
  if (first <= 0) return nullptr;
  std::set<std::string> frozen;
  for (const Parameter& parameter : model_parameters(spec)) {
    if (parameter.is_weight && first-- == 0) break;
    frozen.insert(parameter.name.substr(0, parameter.name.rfind('.')));
  }
  return [frozen](const std::string& layer) { return frozen.count(layer) != 0; };
}

std::vector<Parameter> model_parameters(const ModelSpec& spec, const Builder::Frozen& frozen) {
  Graph graph;
  Builder net(graph, false, frozen);
  Value images = graph.input("images", {DType::f32, {1, 3, spec.image_size, spec.image_size}});
  vgg16(net, images, spec.vgg);
  return net.parameters();
}

void initialise(State& state, const std::vector<Parameter>& parameters, uint64_t seed) {
  for (size_t index = 0; index < parameters.size(); ++index) {
    const Parameter& parameter = parameters[index];
    state.add(parameter.name, parameter.type);
    std::vector<float> values = starting_values(parameter, seed, index);
    state.upload(parameter.name, std::as_bytes(std::span(values)));
  }
}

void load_weights(State& state, const std::vector<Parameter>& parameters, const std::filesystem::path& path,
                  bool new_head) {
  SafetensorsFile file = SafetensorsFile::open(path);
  std::map<std::string, const TensorView*> tensors;
  for (const auto& [name, tensor] : file.tensors()) tensors[torchvision_name(name)] = &tensor;

  std::vector<std::string> missing, unexpected, misshapen;
  std::map<std::string, const Parameter*> wanted;
  for (const Parameter& parameter : parameters) {
    if (new_head && is_head(parameter.name)) continue;
    wanted[parameter.name] = &parameter;
    auto found = tensors.find(parameter.name);
    if (found == tensors.end()) {
      missing.push_back(parameter.name);
    } else if (!same_elements(found->second->shape, parameter.type.shape)) {
      misshapen.push_back(fmt::format("{} has shape [{}], the model needs {}", parameter.name,
                                      fmt::join(found->second->shape, ", "),
                                      to_string(parameter.type.shape)));
    }
  }
  bool head_only = missing.empty();
  for (const std::string& name : misshapen) head_only = head_only && is_head(name);
  for (const auto& [name, tensor] : tensors) {
    if (wanted.count(name) != 0 || ends_with(name, ".num_batches_tracked") || (new_head && is_head(name)))
      continue;
    unexpected.push_back(name);
    head_only = head_only && is_head(name);
  }
  if (!missing.empty() || !unexpected.empty() || !misshapen.empty()) {
    std::vector<std::string> parts;
    auto list = [&](const char* what, const std::vector<std::string>& names) {
      if (names.empty()) return;
      size_t shown = std::min<size_t>(names.size(), 4);
      std::string more = names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "";
      parts.push_back(fmt::format(
          "{} {}{}", what, fmt::join(names.begin(), names.begin() + static_cast<long>(shown), ", "), more));
    };
    list("missing", missing);
    list("unexpected", unexpected);
    if (!misshapen.empty()) list("", misshapen);
    throw Error(ExitCode::usage,
                fmt::format("--init {}: {}. {}", path.string(), fmt::join(parts, "; "),
                            head_only ? "Use --new-head to keep the features and start a new classifier."
                                      : "Check --model, --head and --width against the file."));
  }
  for (const auto& [name, parameter] : wanted) {
    std::vector<float> values = to_floats(*tensors.at(name));
    state.upload(name, std::as_bytes(std::span(values)));
  }
}

}  // namespace lathe
