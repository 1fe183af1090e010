// Reshape: the same bytes under another shape. A view, so there is nothing to implement.
#include "layers/layer.h"

namespace lathe {
namespace {

// input: x, row-major   output: a view.  Attribute: shape ints; one extent may be -1 and is worked out.
struct Reshape final : Operation {
  std::string_view name() const override { return "reshape"; }
  std::vector<Type> infer(const Call& call) const override {
    const Type& x = call.inputs[0];
    require(x.layout == Layout::nchw, call, "reshape needs a row-major tensor, x is " + to_string(x));
    std::vector<int64_t> dims = call.attributes.integers("shape");
    int64_t known = 1, unknown = -1;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      require(dims[axis] >= 0 || (dims[axis] == -1 && unknown < 0), call,
              "reshape to " + to_string(Shape(dims)) + ": extents are counts, and one of them may be -1");
      if (dims[axis] == -1) {
        unknown = static_cast<int64_t>(axis);
      } else {
        known *= dims[axis];
      }
    }
    int64_t elements = x.shape.elements();
    if (unknown >= 0 && known > 0 && elements % known == 0) dims[unknown] = elements / known;
    require((unknown < 0 || dims[unknown] >= 0) && Shape(dims).elements() == elements, call,
            "cannot reshape " + to_string(x) + " to " + to_string(Shape(call.attributes.integers("shape"))));
    return {{x.dtype, Shape(dims), Layout::nchw}};
  }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>&) const override {
    Attributes attributes{{"shape", graph.type(node.inputs[0]).shape.dims()}};
    return {graph.add1("reshape", {dy[0]}, attributes, node.name)};
  }
  Cost cost(const Call&) const override { return {}; }
  std::optional<int> identity(const Call& call) const override {
    return call.inputs[0] == call.outputs[0] ? std::optional(0) : std::nullopt;
  }
  Alias alias(const Call&, int) const override { return {Alias::view, 0}; }
};

const Register<Reshape> reshape;

}  // namespace
}  // namespace lathe
