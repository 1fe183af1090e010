// y = a · b, of two tensors of the same type, or of a tensor and a scalar b.
#include "layers/layer.h"

namespace lathe {
namespace {

bool by_scalar(const Type& a, const Type& b) { return b.shape.rank() == 0 && a.shape.rank() != 0; }

struct Multiply final : Operation {
  std::string_view name() const override { return "multiply"; }
  std::vector<Type> infer(const Call& call) const override {
    const Type &a = call.inputs[0], &b = call.inputs[1];
    require(a == b || (b.shape.rank() == 0 && a.dtype == b.dtype), call,
            "cannot multiply " + to_string(a) + " and " + to_string(b));
    return {a};
  }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>& wanted) const override {
    Value a = node.inputs[0], b = node.inputs[1], da, db;
    if (wanted[0]) da = graph.add1("multiply", {dy[0], b}, {}, node.name);
    if (wanted[1]) db = graph.add1("multiply", {dy[0], a}, {}, node.name);
    if (wanted[1] && by_scalar(graph.type(a), graph.type(b))) {
      std::vector<int64_t> axes;
      for (int64_t axis = 0; axis < graph.type(a).shape.rank(); ++axis) axes.push_back(axis);
      db = graph.add1("reduce_sum", {db}, {{"axes", axes}}, node.name);
    }
    return {da, db};
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

const Register<Multiply> multiply;

}  // namespace
}  // namespace lathe
