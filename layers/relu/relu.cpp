// ReLU.  y = max(x, 0), with NaN kept so that a diverging run is seen.
// Its gradient reads y, not x, so that the forward pass can work in place:  dx = y > 0 ? dy : 0.
#include "layers/layer.h"

namespace lathe {
namespace {

struct Relu final : Operation {
  std::string_view name() const override { return "relu"; }
  std::vector<Type> infer(const Call& call) const override { return {call.inputs[0]}; }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>&) const override {
    return {graph.add1("relu_gradient", {node.outputs[0], dy[0]}, {}, node.name)};
  }
  Alias alias(const Call&, int) const override { return {Alias::reuse, 0}; }
  LayoutRule input_layout(const Call&, int) const override { return LayoutRule::tied; }
  LayoutRule output_layout(const Call&, int) const override { return LayoutRule::tied; }
};

// inputs: y, dy (same type)   output: dx
struct ReluGradient final : Operation {
  std::string_view name() const override { return "relu_gradient"; }
  std::vector<Type> infer(const Call& call) const override {
    require(call.inputs[0] == call.inputs[1], call,
            "y is " + to_string(call.inputs[0]) + " but dy is " + to_string(call.inputs[1]));
    return {call.inputs[1]};
  }
  Alias alias(const Call&, int) const override { return {Alias::reuse, 1}; }
  LayoutRule input_layout(const Call&, int) const override { return LayoutRule::tied; }
  LayoutRule output_layout(const Call&, int) const override { return LayoutRule::tied; }
};

const Register<Relu> relu;
const Register<ReluGradient> relu_gradient;

}  // namespace
}  // namespace lathe
