// Average pooling.  y = the mean of a window. Padding counts as zeros in the divisor with count_include_pad =
// 1 (what PyTorch does by default); with 0 only elements inside the input count.
#include "layers/pool.h"

namespace lathe {
namespace {

// Attributes: see layers/pool.h, and count_include_pad int.
struct AvgPool final : Operation {
  std::string_view name() const override { return "avg_pool"; }
  std::vector<Type> infer(const Call& call) const override { return {pooled_type(call)}; }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>&) const override {
    const Shape& x = graph.type(node.inputs[0]).shape;
    Attributes attributes = node.attributes;
    attributes.set("input_size", std::vector<int64_t>{x[2], x[3]});
    return {graph.add1("avg_pool_gradient", {dy[0]}, attributes, node.name)};
  }
  Cost cost(const Call& call) const override {
    Cost cost = Operation::cost(call);
    const std::vector<int64_t>& window = call.attributes.integers("window");
    cost.flops =
        static_cast<double>(call.outputs[0].shape.elements()) * static_cast<double>(window[0] * window[1]);
    return cost;
  }
  LayoutRule input_layout(const Call&, int) const override { return LayoutRule::tied; }
  LayoutRule output_layout(const Call&, int) const override { return LayoutRule::tied; }
};

// input: dy   output: dx [N, C, input_size].  Attributes: avg_pool's and input_size ints[2].
struct AvgPoolGradient final : Operation {
  std::string_view name() const override { return "avg_pool_gradient"; }
  std::vector<Type> infer(const Call& call) const override { return {unpooled_type(call, call.inputs[0])}; }
  Cost cost(const Call& call) const override {
    Cost cost = Operation::cost(call);
    const std::vector<int64_t>& window = call.attributes.integers("window");
    cost.flops =
        static_cast<double>(call.inputs[0].shape.elements()) * static_cast<double>(window[0] * window[1]);
    return cost;
  }
  LayoutRule input_layout(const Call&, int) const override { return LayoutRule::tied; }
  LayoutRule output_layout(const Call&, int) const override { return LayoutRule::tied; }
};

const Register<AvgPool> avg_pool;
const Register<AvgPoolGradient> avg_pool_gradient;

}  // namespace
}  // namespace lathe
