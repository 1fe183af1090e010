// Concatenation along one axis.  The gradient of each input is its slice of dy.
#include "layers/layer.h"

namespace lathe {
namespace {

// inputs: one or more tensors that agree but for one axis   output: y.  Attribute: axis int.
struct Concat final : Operation {
  std::string_view name() const override { return "concat"; }
  std::vector<Type> infer(const Call& call) const override {
    require(!call.inputs.empty(), call, "nothing to concatenate");
    Type type = call.inputs[0];
    int64_t axis = call.attributes.integer("axis");
    require(axis >= 0 && axis < type.shape.rank(), call,
            "concat has no axis " + std::to_string(axis) + " in " + to_string(type));
    std::vector<int64_t> dims = type.shape.dims();
    dims[axis] = 0;
    for (const Type& input : call.inputs) {
      bool fits =
          input.dtype == type.dtype && input.layout == type.layout && input.shape.rank() == type.shape.rank();
      for (int64_t i = 0; fits && i < type.shape.rank(); ++i)
        fits = i == axis || input.shape[i] == type.shape[i];
      require(fits, call, "cannot concatenate " + to_string(type) + " and " + to_string(input));
      dims[axis] += input.shape[axis];
    }
    type.shape = Shape(dims);
    return {type};
  }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>& wanted) const override {
    int64_t axis = node.attributes.integer("axis"), begin = 0;
    std::vector<Value> gradients;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      int64_t size = graph.type(node.inputs[i]).shape[axis];
      Attributes attributes{{"axis", axis}, {"begin", begin}, {"size", size}};
      gradients.push_back(wanted[i] ? graph.add1("slice", {dy[0]}, attributes, node.name) : Value{});
      begin += size;
    }
    return gradients;
  }
  std::optional<int> identity(const Call& call) const override {
    return call.inputs.size() == 1 ? std::optional(0) : std::nullopt;
  }
};

const Register<Concat> concat;

}  // namespace
}  // namespace lathe
