// y = a + b, of two tensors of the same type.
#include "layers/layer.h"

namespace lathe {
namespace {

struct Add final : Operation {
  std::string_view name() const override { return "add"; }
  std::vector<Type> infer(const Call& call) const override {
    require(call.inputs[0] == call.inputs[1], call,
            "cannot add " + to_string(call.inputs[0]) + " and " + to_string(call.inputs[1]));
    return {call.inputs[0]};
  }
  std::vector<Value> gradient(Graph&, const Node&, const std::vector<Value>& dy,
                              const std::vector<bool>&) const override {
    return {dy[0], dy[0]};
  }
  Cost cost(const Call& call) const override {
    Cost cost = Operation::cost(call);
    cost.flops = static_cast<double>(call.outputs[0].shape.elements());
    return cost;
  }
  Alias alias(const Call&, int) const override { return {Alias::reuse, 0}; }
  LayoutRule input_layout(const Call&, int) const override { return LayoutRule::tied; }
  LayoutRule output_layout(const Call&, int) const override { return LayoutRule::tied; }
};

const Register<Add> add;

}  // namespace
}  // namespace lathe
