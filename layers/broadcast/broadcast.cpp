// Broadcast: the inverse of a reduction's shape rule. Repeats x along new axes.
#include "layers/reduce/reduce_axes.h"

namespace lathe {
namespace {

// input: x   output: y of `shape`; without the axes that shape is x's.  Attributes: shape ints, axes ints.
struct Broadcast final : Operation {
  std::string_view name() const override { return "broadcast"; }
  std::vector<Type> infer(const Call& call) const override {
    const Type& x = call.inputs[0];
    Shape shape(call.attributes.integers("shape"));
    const std::vector<int64_t>& axes = call.attributes.integers("axes");
    check_axes(call, axes, shape);
    std::vector<int64_t> kept;
    for (int64_t axis = 0; axis < shape.rank(); ++axis) {
      require(shape[axis] >= 0, call, "no shape: " + to_string(shape));
      if (!has_axis(axes, axis)) kept.push_back(shape[axis]);
    }
    require(x.layout == Layout::nchw && Shape(kept) == x.shape, call,
            "cannot broadcast " + to_string(x) + " to " + to_string(shape) + " along the given axes");
    return {{x.dtype, shape, Layout::nchw}};
  }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>&) const override {
    return {graph.add1("reduce_sum", {dy[0]}, {{"axes", node.attributes.integers("axes")}}, node.name)};
  }
};

const Register<Broadcast> broadcast;

}  // namespace
}  // namespace lathe
