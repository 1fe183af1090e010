// Builder: the vocabulary in which models are written (apps/models). It adds nodes to a graph, names layers
// as torchvision's Sequential does ("features.0.weight"), and keeps the list of what has to be initialised
// and trained.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace lathe {

enum class Init : uint8_t {
  zeros,
  ones,
  he_fan_out,  // normal, variance 2 / (O·kH·kW): convolutions
  he_fan_in,   // normal, variance 2 / inputs: hidden linear layers
  small,       // normal, standard deviation 0.01: the last layer
};

struct Parameter {
  std::string name;  // "features.0.weight"
  Type type;
  Init init = Init::zeros;
  bool trainable = true;   // false: frozen, or a running statistic
  bool is_weight = false;  // a kernel or matrix, which --decay weights decays (not a bias, gamma or beta)
};

struct Conv2dOptions {
  int64_t channels = 0, kernel = 3, stride = 1, padding = 0, dilation = 1, groups = 1;
};
struct PoolOptions {
  int64_t window = 2, stride = 2, padding = 0;
  bool ceil = false;
};
struct BatchNormOptions {
  double epsilon = 1e-5, momentum = 0.1;
};

class Builder {
 public:
  // `frozen(layer)` says which layers ("features.3") do not learn; their batch norm uses and keeps its
  // running statistics. Not training: dropout is absent and batch norm uses its running statistics.
  using Frozen = std::function<bool(const std::string& layer)>;
  Builder(Graph& graph, bool training, Frozen frozen = nullptr)
      : graph_(graph), training_(training), frozen_(std::move(frozen)) {}

  // Following layers are named <section>.0, <section>.1, …
  void section(const std::string& name);

  Value conv2d(Value x, const Conv2dOptions& options);  // with bias, as torchvision has it
  Value batch_norm(Value x, const BatchNormOptions& options = {});
  Value relu(Value x);
  Value max_pool(Value x, const PoolOptions& options);
  Value linear(Value x, int64_t outputs, Init init);  // x: [N, K]; with bias
  Value dropout(Value x, double probability);         // needs the graph inputs of set_random

  // Layers without a number of their own.
  Value adaptive_avg_pool(Value x, int64_t height, int64_t width);
  Value flatten(Value x);  // [N, …] → [N, K]

  // Device scalars that dropout reads: seed i64[], step i64[].
  void set_random(Value seed, Value step) { seed_ = seed, step_ = step; }

  Graph& graph() { return graph_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }

 private:
  std::string next_layer();
  Value parameter(const std::string& name, const Shape& shape, Init init, bool trainable, bool is_weight);

  Graph& graph_;
  bool training_;
  Frozen frozen_;
  std::string section_ = "layers";
  int index_ = 0;
  int dropouts_ = 0;
  Value seed_, step_;
  std::vector<Parameter> parameters_;
};

}  // namespace lathe
