// Dropout.  y = kept ? x/(1 − p) : 0. Which elements are kept depends on (seed, step, layer, position in
// N,C,H,W order) alone, so the gradient is the same operation on dy: the mask is made again, never stored.
#include "layers/layer.h"

namespace lathe {
namespace {

// inputs: x, seed i64[], step i64[]   output: y.  Attributes: p real in [0, 1), layer int.
struct Dropout final : Operation {
  std::string_view name() const override { return "dropout"; }
  std::vector<Type> infer(const Call& call) const override {
    Type scalar{DType::i64, {}, Layout::nchw};
    require(call.inputs[1] == scalar && call.inputs[2] == scalar, call,
            "dropout's seed and step must be i64 scalars");
    double p = call.attributes.real("p");
    require(p >= 0 && p < 1, call, "dropout's p must lie in [0, 1), it is " + std::to_string(p));
    return {call.inputs[0]};
  }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>&) const override {
    Value dx = graph.add1("dropout", {dy[0], node.inputs[1], node.inputs[2]}, node.attributes, node.name);
    return {dx, Value{}, Value{}};
  }
  Cost cost(const Call& call) const override {
    Cost cost = Operation::cost(call);
    cost.flops = static_cast<double>(call.outputs[0].shape.elements());
    return cost;
  }
  std::optional<int> identity(const Call& call) const override {
    return call.attributes.real("p") == 0 ? std::optional(0) : std::nullopt;
  }
  Alias alias(const Call&, int) const override { return {Alias::reuse, 0}; }
  LayoutRule input_layout(const Call&, int input) const override {
    return input == 0 ? LayoutRule::tied : LayoutRule::row_major;
  }
  LayoutRule output_layout(const Call&, int) const override { return LayoutRule::tied; }
};

const Register<Dropout> dropout;

}  // namespace
}  // namespace lathe
