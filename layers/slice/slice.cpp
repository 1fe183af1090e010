// Slice: the elements begin … begin + size − 1 along one axis.  The gradient puts dy back among zeros.
#include "layers/layer.h"

namespace lathe {
namespace {

// input: x   output: y.  Attributes: axis, begin, size ints.
struct Slice final : Operation {
  std::string_view name() const override { return "slice"; }
  std::vector<Type> infer(const Call& call) const override {
    Type type = call.inputs[0];
    int64_t axis = call.attributes.integer("axis"), begin = call.attributes.integer("begin");
    int64_t size = call.attributes.integer("size");
    require(axis >= 0 && axis < type.shape.rank() && begin >= 0 && size >= 0 && begin <= type.shape[axis] &&
                size <= type.shape[axis] - begin,
            call, "no slice {" + to_string(call.attributes) + "} in " + to_string(type));
    std::vector<int64_t> dims = type.shape.dims();
    dims[axis] = size;
    type.shape = Shape(dims);
    return {type};
  }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>&) const override {
    int64_t axis = node.attributes.integer("axis");
    Attributes attributes{{"axis", axis},
                          {"begin", node.attributes.integer("begin")},
                          {"input_size", graph.type(node.inputs[0]).shape[axis]}};
    return {graph.add1("slice_gradient", {dy[0]}, attributes, node.name)};
  }
  std::optional<int> identity(const Call& call) const override {
    return call.inputs[0] == call.outputs[0] ? std::optional(0) : std::nullopt;
  }
};

// input: dy   output: dx with `input_size` elements along the axis, zero outside the slice.
// Attributes: axis, begin, input_size ints.
struct SliceGradient final : Operation {
  std::string_view name() const override { return "slice_gradient"; }
  std::vector<Type> infer(const Call& call) const override {
    Type type = call.inputs[0];
    int64_t axis = call.attributes.integer("axis"), begin = call.attributes.integer("begin");
    int64_t input = call.attributes.integer("input_size");
    require(axis >= 0 && axis < type.shape.rank() && begin >= 0 && begin <= input &&
                type.shape[axis] <= input - begin,
            call, to_string(type) + " is no slice {" + to_string(call.attributes) + "}");
    std::vector<int64_t> dims = type.shape.dims();
    dims[axis] = input;
    type.shape = Shape(dims);
    return {type};
  }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>&) const override {
    int64_t axis = node.attributes.integer("axis");
    Attributes attributes{{"axis", axis},
                          {"begin", node.attributes.integer("begin")},
                          {"size", graph.type(node.inputs[0]).shape[axis]}};
    return {graph.add1("slice", {dy[0]}, attributes, node.name)};
  }
};

const Register<Slice> slice;
const Register<SliceGradient> slice_gradient;

}  // namespace
}  // namespace lathe
