// Sums and means over axes, which are removed from the shape. Accumulated in double, in a fixed order.
#include "layers/reduce/reduce_axes.h"

namespace lathe {
namespace {

// The node that repeats dy along the axes that a reduction of x removed.
Value spread(Graph& graph, const Node& node, Value dy) {
  Attributes attributes{{"shape", graph.type(node.inputs[0]).shape.dims()},
                        {"axes", node.attributes.integers("axes")}};
  return graph.add1("broadcast", {dy}, attributes, node.name);
}

// input: x   output: y, x's shape without the axes.  Attribute: axes ints, all different.
struct ReduceSum : Operation {
  std::string_view name() const override { return "reduce_sum"; }
  std::vector<Type> infer(const Call& call) const override {
    const Type& x = call.inputs[0];
    const std::vector<int64_t>& axes = call.attributes.integers("axes");
    check_axes(call, axes, x.shape);
    std::vector<int64_t> dims;
    for (int64_t axis = 0; axis < x.shape.rank(); ++axis) {
      if (!has_axis(axes, axis)) dims.push_back(x.shape[axis]);
    }
    return {{x.dtype, Shape(dims), Layout::nchw}};
  }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>&) const override {
    return {spread(graph, node, dy[0])};
  }
  Cost cost(const Call& call) const override {
    Cost cost = Operation::cost(call);
    cost.flops = static_cast<double>(call.inputs[0].shape.elements());
    return cost;
  }
};

struct ReduceMean final : ReduceSum {
  std::string_view name() const override { return "reduce_mean"; }
  std::vector<Type> infer(const Call& call) const override {
    std::vector<Type> types = ReduceSum::infer(call);
    require(call.inputs[0].shape.elements() > 0, call,
            "no mean of nothing: x is " + to_string(call.inputs[0]));
    return types;
  }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>&) const override {
    double count = static_cast<double>(graph.type(node.inputs[0]).shape.elements()) /
                   static_cast<double>(graph.type(node.outputs[0]).shape.elements());
    Value share = graph.add1("scale", {dy[0]}, {{"factor", 1 / count}}, node.name);
    return {spread(graph, node, share)};
  }
};

const Register<ReduceSum> reduce_sum;
const Register<ReduceMean> reduce_mean;

}  // namespace
}  // namespace lathe
