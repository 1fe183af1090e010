// y = x · factor, a number known when the graph is built.
#include "layers/layer.h"

namespace lathe {
namespace {

// Attribute: factor real.
struct Scale final : Operation {
  std::string_view name() const override { return "scale"; }
  std::vector<Type> infer(const Call& call) const override { return {call.inputs[0]}; }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>&) const override {
    return {graph.add1("scale", {dy[0]}, node.attributes, node.name)};
  }
  Cost cost(const Call& call) const override {
    Cost cost = Operation::cost(call);
    cost.flops = static_cast<double>(call.outputs[0].shape.elements());
    return cost;
  }
  std::optional<int> identity(const Call& call) const override {
    return call.attributes.real("factor") == 1 ? std::optional(0) : std::nullopt;
  }
  Alias alias(const Call&, int) const override { return {Alias::reuse, 0}; }
  LayoutRule input_layout(const Call&, int) const override { return LayoutRule::tied; }
  LayoutRule output_layout(const Call&, int) const override { return LayoutRule::tied; }
};

const Register<Scale> scale;

}  // namespace
}  // namespace lathe
