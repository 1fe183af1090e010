// Bias.  y = x + b[channel], axis 1 being the channel.  The gradient of b sums dy over everything else.
#include "layers/layer.h"

namespace lathe {
namespace {

// inputs: x [N, C, …], b [C]   output: y
struct Bias final : Operation {
  std::string_view name() const override { return "bias"; }
  std::vector<Type> infer(const Call& call) const override {
    const Type &x = call.inputs[0], &b = call.inputs[1];
    require(x.shape.rank() >= 2, call, "bias needs an axis of channels, x is " + to_string(x));
    require(b.shape == Shape{x.shape[1]}, call, "b is " + to_string(b) + ", x is " + to_string(x));
    return {x};
  }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>& wanted) const override {
    return {dy[0], wanted[1] ? graph.add1("bias_gradient", {dy[0]}, {}, node.name) : Value{}};
  }
  Cost cost(const Call& call) const override {
    Cost cost = Operation::cost(call);
    cost.flops = static_cast<double>(call.outputs[0].shape.elements());
    return cost;
  }
  Alias alias(const Call&, int) const override { return {Alias::reuse, 0}; }
  LayoutRule input_layout(const Call&, int input) const override {
    return input == 0 ? LayoutRule::tied : LayoutRule::row_major;
  }
  LayoutRule output_layout(const Call&, int) const override { return LayoutRule::tied; }
};

// input: dy [N, C, …]   output: db [C]
struct BiasGradient final : Operation {
  std::string_view name() const override { return "bias_gradient"; }
  std::vector<Type> infer(const Call& call) const override {
    const Type& dy = call.inputs[0];
    require(dy.shape.rank() >= 2, call, "bias needs an axis of channels, dy is " + to_string(dy));
    return {{DType::f32, {dy.shape[1]}, Layout::nchw}};
  }
  Cost cost(const Call& call) const override {
    Cost cost = Operation::cost(call);
    cost.flops = static_cast<double>(call.inputs[0].shape.elements());
    return cost;
  }
  LayoutRule input_layout(const Call&, int) const override { return LayoutRule::free; }
};

const Register<Bias> bias;
const Register<BiasGradient> bias_gradient;

}  // namespace
}  // namespace lathe
