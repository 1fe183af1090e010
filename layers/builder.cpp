#include "layers/builder.h"

#include <stdexcept>

namespace lathe {

void Builder::section(const std::string& name) {
  section_ = name;
  index_ = 0;
}

std::string Builder::next_layer() { return section_ + "." + std::to_string(index_++); }

Value Builder::parameter(const std::string& name, const Shape& shape, Init init, bool trainable,
                         bool is_weight) {
  Type type{DType::f32, shape};
  parameters_.push_back({name, type, init, trainable, is_weight});
  return graph_.state(name, type);
}

Value Builder::conv2d(Value x, const Conv2dOptions& o) {
  std::string layer = next_layer();
  bool learns = !frozen_ || !frozen_(layer);
  Shape shape{o.channels, graph_.type(x).shape[1] / o.groups, o.kernel, o.kernel};
  Value weight = parameter(layer + ".weight", shape, Init::he_fan_out, learns, true);
  Value bias = parameter(layer + ".bias", {o.channels}, Init::zeros, learns, false);
  auto pair = [](int64_t value) { return std::vector<int64_t>{value, value}; };
  Value y = graph_.add1("conv2d", {x, weight},
                        {{"stride", pair(o.stride)},
                         {"padding", pair(o.padding)},
                         {"dilation", pair(o.dilation)},
                         {"groups", o.groups}},
                        layer);
  return graph_.add1("bias", {y, bias}, {}, layer);
}

Value Builder::batch_norm(Value x, const BatchNormOptions& o) {
  std::string layer = next_layer();
  bool learns = !frozen_ || !frozen_(layer);
  Shape shape{graph_.type(x).shape[1]};
  Value gamma = parameter(layer + ".weight", shape, Init::ones, learns, false);
  Value beta = parameter(layer + ".bias", shape, Init::zeros, learns, false);
  Value mean = parameter(layer + ".running_mean", shape, Init::zeros, false, false);
  Value variance = parameter(layer + ".running_var", shape, Init::ones, false, false);
  if (!training_ || !learns) {
    return graph_.add1("batch_norm_inference", {x, gamma, beta, mean, variance}, {{"epsilon", o.epsilon}},
                       layer);
  }
  return graph_.add("batch_norm", {x, gamma, beta, mean, variance},
                    {{"epsilon", o.epsilon}, {"momentum", o.momentum}}, layer)[0];
}

Value Builder::relu(Value x) { return graph_.add1("relu", {x}, {}, next_layer()); }

Value Builder::max_pool(Value x, const PoolOptions& o) {
  auto pair = [](int64_t value) { return std::vector<int64_t>{value, value}; };
  return graph_.add("max_pool", {x},
                    {{"window", pair(o.window)},
                     {"stride", pair(o.stride)},
                     {"padding", pair(o.padding)},
                     {"ceil", int64_t{o.ceil}}},
                    next_layer())[0];
}

Value Builder::linear(Value x, int64_t outputs, Init init) {
  std::string layer = next_layer();
  bool learns = !frozen_ || !frozen_(layer);
  Shape shape{outputs, graph_.type(x).shape[1]};
  Value weight = parameter(layer + ".weight", shape, init, learns, true);
  Value bias = parameter(layer + ".bias", {outputs}, Init::zeros, learns, false);
  return graph_.add1("bias", {graph_.add1("linear", {x, weight}, {}, layer), bias}, {}, layer);
}

Value Builder::dropout(Value x, double probability) {
  std::string layer = next_layer();
  int64_t stream = dropouts_++;
  if (!training_ || probability == 0) return x;
  if (!seed_ || !step_) throw std::logic_error("Builder::dropout needs set_random");
  return graph_.add1("dropout", {x, seed_, step_}, {{"p", probability}, {"layer", stream}}, layer);
}

Value Builder::adaptive_avg_pool(Value x, int64_t height, int64_t width) {
  return graph_.add1("adaptive_avg_pool", {x}, {{"output_size", std::vector<int64_t>{height, width}}},
                     "avgpool");
}

Value Builder::flatten(Value x) {
  return graph_.add1("reshape", {x}, {{"shape", std::vector<int64_t>{graph_.type(x).shape[0], -1}}},
                     "flatten");
}

}  // namespace lathe
