#include "apps/training/checkpoint.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>

#include "engine/runtime/cuda_check.h"
#include "engine/runtime/error.h"
#include "engine/runtime/printable.h"

namespace lathe {
namespace {

constexpr int kVersion = 1;

// Fetches a piece of a tensor from the device and refuses one that is not finite, so that a diverged run
// never replaces good weights.
void copy_finite(const TensorView& tensor, size_t offset, std::span<std::byte> out) {
  const std::byte* from = tensor.bytes.data() + offset;
  if (tensor.dtype != "F32") {  // a counter, in host memory
    std::memcpy(out.data(), from, out.size());
    return;
  }
  check_cuda(cudaMemcpy(out.data(), from, out.size(), cudaMemcpyDeviceToHost), tensor.name);
  for (size_t at = 0; at < out.size(); at += sizeof(float)) {
    float value;
    std::memcpy(&value, out.data() + at, sizeof value);
    if (std::isfinite(value)) continue;
    throw Error(ExitCode::not_finite,
                fmt::format("{} holds {}: nothing was saved and the last good files stay; try a "
                            "smaller --lr",
                            tensor.name, value));
  }
}

TensorView on_device(const State& state, const std::string& name) {
  const Type& type = state.type(name);
  return {name,
          "F32",
          type.shape.dims(),
          {static_cast<const std::byte*>(state.data(name)), static_cast<size_t>(type.bytes())}};
}

// JSON has no infinity, so numbers travel as the shortest text that reads back exactly.
std::string number(double value) { return fmt::format("{}", value); }
double to_number(const nlohmann::json& json) { return std::stod(json.get<std::string>()); }
double to_amount(const nlohmann::json& json) {
  double value = to_number(json);
  if (!(value >= 0) || !std::isfinite(value)) throw std::runtime_error("a time or sum is out of range");
  return value;
}
int64_t to_count(const nlohmann::json& json) {
  constexpr int64_t kMost = int64_t{1} << 53;
  bool fits = json.is_number_unsigned() && json.get<uint64_t>() <= uint64_t{kMost};
  if (!fits) throw std::runtime_error("a count is out of range");
  return json.get<int64_t>();
}

nlohmann::json to_json(const RunPosition& p) {
  return {{"version", kVersion},
          {"epoch", p.epoch},
          {"batch", p.batch},
          {"updates", p.updates},
          {"batches", p.batches},
          {"seconds", number(p.seconds)},
          {"loss_sum", number(p.loss_sum)},
          {"wait_ms", number(p.wait_ms)},
          {"epoch_seconds", number(p.epoch_seconds)},
          {"correct", p.correct},
          {"seen", p.seen},
          {"best_epoch", p.best_epoch},
          {"best_top1", number(p.best_top1)},
          {"best_loss", number(p.best_loss)},
          {"evaluations_since_best", p.evaluations_since_best}};
}

RunPosition from_json(const nlohmann::json& json) {
  if (json.at("version").get<int>() != kVersion)
    throw std::runtime_error("saved by another version of lathe");
  RunPosition p;
  p.epoch = to_count(json.at("epoch"));
  p.batch = to_count(json.at("batch"));
  p.updates = to_count(json.at("updates"));
  p.batches = to_count(json.at("batches"));
  p.seconds = to_amount(json.at("seconds"));
  p.loss_sum = to_amount(json.at("loss_sum"));
  p.wait_ms = to_amount(json.at("wait_ms"));
  p.epoch_seconds = to_amount(json.at("epoch_seconds"));
  p.correct = to_count(json.at("correct"));
  p.seen = to_count(json.at("seen"));
  p.best_epoch = to_count(json.at("best_epoch"));
  p.best_top1 = to_number(json.at("best_top1"));
  p.best_loss = to_number(json.at("best_loss"));
  p.evaluations_since_best = to_count(json.at("evaluations_since_best"));
  if (p.correct > p.seen || std::isnan(p.best_top1) || std::isnan(p.best_loss))
    throw std::runtime_error("its accuracy is out of range");
  return p;
}

}  // namespace

void save_weights(const std::filesystem::path& path, const State& state,
                  const std::vector<Parameter>& parameters, const ModelSpec& spec, int64_t batches) {
  std::vector<TensorView> tensors;
  for (const Parameter& parameter : parameters) {
    tensors.push_back(on_device(state, parameter.name));
    size_t layer = parameter.name.find(".running_var");
    if (layer == std::string::npos) continue;
    // PyTorch's batch norm counts its batches and expects the count in a strict load.
    tensors.push_back({parameter.name.substr(0, layer) + ".num_batches_tracked",
                       "I64",
                       {},
                       std::as_bytes(std::span(&batches, 1))});
  }
  write_safetensors(path, tensors, spec.metadata(), copy_finite);
}

void save_state(const std::filesystem::path& path, const State& state, const ModelSpec& spec,
                const RunPosition& position, const std::string& settings, const std::string& samples) {
  std::vector<TensorView> tensors;
  for (const std::string& name : state.names()) tensors.push_back(on_device(state, name));
  std::map<std::string, std::string> metadata = spec.metadata();
  metadata["lathe.position"] = to_json(position).dump();
  metadata["lathe.settings"] = settings;
  metadata["lathe.samples"] = samples;
  write_safetensors(path, tensors, metadata, copy_finite);
}

RunPosition load_state(const std::filesystem::path& path, State& state, const ModelSpec& spec,
                       const std::string& samples) {
  SafetensorsFile file = SafetensorsFile::open(path);
  auto refuse = [&](const std::string& why) {
    throw Error(ExitCode::data, fmt::format("{}: {}", path.string(), why));
  };
  // Other classes or pictures would train on with other labels, or in another order, without a word.
  std::map<std::string, std::string> ours = spec.metadata();
  ours["lathe.samples"] = samples;
  for (const auto& [key, value] : ours) {
    auto saved = file.metadata().find(key);
    if (saved != file.metadata().end() && saved->second != value)
      refuse(fmt::format(
          "{} was {} when the run was saved and is {} now; resume with the data and model that it "
          "was started with",
          key, printable(saved->second), printable(value)));
  }
  for (const std::string& name : state.names()) {
    const TensorView& tensor = file.tensor(name);
    if (Shape(tensor.shape) != state.type(name).shape || tensor.dtype != "F32") {
      refuse(fmt::format("{} does not fit this run's model", name));
    }
    state.upload(name, tensor.bytes);
  }
  auto found = file.metadata().find("lathe.position");
  if (found == file.metadata().end()) refuse("it has no position to resume from; is it a file of weights?");
  try {
    return from_json(nlohmann::json::parse(found->second));
  } catch (const std::exception& error) {
    refuse(fmt::format("its position cannot be read: {}", error.what()));
  }
  throw std::logic_error("unreachable");
}

}  // namespace lathe
