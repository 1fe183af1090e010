#include "apps/training/checkpoint.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "engine/runtime/error.h"

namespace lathe {
namespace {

constexpr int kVersion = 1;

void require_finite(const std::vector<std::byte>& bytes, const std::string& name,
                    const std::filesystem::path& path) {
  for (size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
    float value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    if (std::isfinite(value)) continue;
    throw Error(ExitCode::not_finite,
                fmt::format("{} holds {}: {} was not saved and its last good version stays; "
                            "try a smaller --lr",
                            name, value, path.string()));
  }
}

// JSON has no infinity, so numbers travel as the shortest text that reads back exactly.
std::string number(double value) { return fmt::format("{}", value); }
double to_number(const nlohmann::json& json) { return std::stod(json.get<std::string>()); }

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
  p.epoch = json.at("epoch").get<int64_t>();
  p.batch = json.at("batch").get<int64_t>();
  p.updates = json.at("updates").get<int64_t>();
  p.batches = json.at("batches").get<int64_t>();
  p.seconds = to_number(json.at("seconds"));
  p.loss_sum = to_number(json.at("loss_sum"));
  p.wait_ms = to_number(json.at("wait_ms"));
  p.epoch_seconds = to_number(json.at("epoch_seconds"));
  p.correct = json.at("correct").get<int64_t>();
  p.seen = json.at("seen").get<int64_t>();
  p.best_epoch = json.at("best_epoch").get<int64_t>();
  p.best_top1 = to_number(json.at("best_top1"));
  p.best_loss = to_number(json.at("best_loss"));
  p.evaluations_since_best = json.at("evaluations_since_best").get<int64_t>();
  return p;
}

}  // namespace

void save_weights(const std::filesystem::path& path, const State& state,
                  const std::vector<Parameter>& parameters, const ModelSpec& spec, int64_t batches) {
  std::vector<std::vector<std::byte>> storage;
  std::vector<TensorView> tensors = weight_tensors(state, parameters, batches, storage);
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].dtype == "F32") require_finite(storage[i], tensors[i].name, path);
  }
  write_safetensors(path, tensors, spec.metadata());
}

void save_state(const std::filesystem::path& path, const State& state, const ModelSpec& spec,
                const RunPosition& position, const std::string& settings) {
  std::vector<std::vector<std::byte>> storage;
  std::vector<TensorView> tensors;
  std::vector<std::string> names = state.names();
  storage.reserve(names.size());
  for (const std::string& name : names) {
    storage.push_back(state.download(name));
    require_finite(storage.back(), name, path);
    tensors.push_back({name, "F32", state.type(name).shape.dims(), storage.back()});
  }
  std::map<std::string, std::string> metadata = spec.metadata();
  metadata["lathe.position"] = to_json(position).dump();
  metadata["lathe.settings"] = settings;
  write_safetensors(path, tensors, metadata);
}

RunPosition load_state(const std::filesystem::path& path, State& state) {
  SafetensorsFile file = SafetensorsFile::open(path);
  auto refuse = [&](const std::string& why) {
    throw Error(ExitCode::data, fmt::format("{}: {}", path.string(), why));
  };
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
