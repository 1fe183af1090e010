// Adaptive average pooling: whatever the input's size, the output has output_size. Output o averages the
// inputs [floor(o·in/out), ceil((o+1)·in/out)), PyTorch's rule. Implementations: layers/avg_pool.
#include "layers/pool.h"

namespace lathe {
namespace {

// input: x [N, C, H, W]   output: y [N, C, output_size].  Attribute: output_size ints[2].
struct AdaptiveAvgPool final : Operation {
  std::string_view name() const override { return "adaptive_avg_pool"; }
  std::vector<Type> infer(const Call& call) const override {
    Type type = call.inputs[0];
    require(type.shape.rank() == 4, call, "adaptive pooling needs N,C,H,W, x is " + to_string(type));
    const std::vector<int64_t>& size = call.attributes.integers("output_size");
    require(size.at(0) >= 1 && size.at(1) >= 1, call, "output_size must be at least 1");
    require(type.shape[2] >= 1 && type.shape[3] >= 1, call,
            "adaptive pooling of an empty picture, x is " + to_string(type));
    type.shape = {type.shape[0], type.shape[1], size[0], size[1]};
    return {type};
  }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>&) const override {
    const Shape& x = graph.type(node.inputs[0]).shape;
    Attributes attributes{{"input_size", std::vector<int64_t>{x[2], x[3]}}};
    return {graph.add1("adaptive_avg_pool_gradient", {dy[0]}, attributes, node.name)};
  }
  std::optional<int> identity(const Call& call) const override {
    return call.inputs[0].shape == call.outputs[0].shape ? std::optional(0) : std::nullopt;
  }
  Cost cost(const Call& call) const override {
    Cost cost = Operation::cost(call);
    cost.flops = static_cast<double>(call.inputs[0].shape.elements());
    return cost;
  }
  LayoutRule input_layout(const Call&, int) const override { return LayoutRule::tied; }
  LayoutRule output_layout(const Call&, int) const override { return LayoutRule::tied; }
};

// input: dy   output: dx [N, C, input_size].  Attribute: input_size ints[2].
struct AdaptiveAvgPoolGradient final : Operation {
  std::string_view name() const override { return "adaptive_avg_pool_gradient"; }
  std::vector<Type> infer(const Call& call) const override { return {unpooled_type(call, call.inputs[0])}; }
  std::optional<int> identity(const Call& call) const override {
    return call.inputs[0].shape == call.outputs[0].shape ? std::optional(0) : std::nullopt;
  }
  Cost cost(const Call& call) const override {
    Cost cost = Operation::cost(call);
    cost.flops = static_cast<double>(call.outputs[0].shape.elements());
    return cost;
  }
  LayoutRule input_layout(const Call&, int) const override { return LayoutRule::tied; }
  LayoutRule output_layout(const Call&, int) const override { return LayoutRule::tied; }
};

const Register<AdaptiveAvgPool> adaptive_avg_pool;
const Register<AdaptiveAvgPoolGradient> adaptive_avg_pool_gradient;

}  // namespace
}  // namespace lathe
