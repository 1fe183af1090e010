// Max pooling.  y = the window's maximum, index = its row-major position in the window, which is all that the
// gradient needs. The first of equal maxima wins; NaN wins, so that divergence is seen; padding never wins.
#include "layers/pool.h"

namespace lathe {
namespace {

// input: x [N, C, H, W]   outputs: y, index u8, both [N, C, OH, OW].  Attributes: see layers/pool.h.
struct MaxPool final : Operation {
  std::string_view name() const override { return "max_pool"; }
  std::vector<Type> infer(const Call& call) const override {
    Type y = pooled_type(call);
    const std::vector<int64_t>& window = call.attributes.integers("window");
    require(window[0] * window[1] <= 256, call, "max pooling windows hold at most 256 elements");
    Type index = y;
    index.dtype = DType::u8;
    return {y, index};
  }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>&) const override {
    const Shape& x = graph.type(node.inputs[0]).shape;
    Attributes attributes = node.attributes;
    attributes.set("input_size", std::vector<int64_t>{x[2], x[3]});
    return {graph.add1("max_pool_gradient", {node.outputs[1], dy[0]}, attributes, node.name)};
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

// inputs: index, dy [N, C, OH, OW]   output: dx [N, C, input_size].  Attributes: max_pool's and input_size
// ints[2].
struct MaxPoolGradient final : Operation {
  std::string_view name() const override { return "max_pool_gradient"; }
  std::vector<Type> infer(const Call& call) const override {
    const Type &index = call.inputs[0], &dy = call.inputs[1];
    require(index.shape == dy.shape && index.layout == dy.layout, call,
            "index is " + to_string(index) + " but dy is " + to_string(dy));
    return {unpooled_type(call, dy)};
  }
  Cost cost(const Call& call) const override {
    Cost cost = Operation::cost(call);
    cost.flops = static_cast<double>(call.inputs[1].shape.elements());
    return cost;
  }
  LayoutRule input_layout(const Call&, int) const override { return LayoutRule::tied; }
  LayoutRule output_layout(const Call&, int) const override { return LayoutRule::tied; }
};

const Register<MaxPool> max_pool;
const Register<MaxPoolGradient> max_pool_gradient;

}  // namespace
}  // namespace lathe
