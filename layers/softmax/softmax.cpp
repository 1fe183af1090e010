// Softmax over the classes of each row, for predictions; training uses softmax_cross_entropy.
#include "layers/layer.h"

namespace lathe {
namespace {

// input: x [N, K]   output: p [N, K]
struct Softmax final : Operation {
  std::string_view name() const override { return "softmax"; }
  std::vector<Type> infer(const Call& call) const override {
    const Type& x = call.inputs[0];
    require(x.shape.rank() == 2 && x.shape[1] > 0, call, "softmax needs [N, K], x is " + to_string(x));
    return {x};
  }
  // dx = p·dy − p·Σ_k p·dy
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>&) const override {
    Value p = node.outputs[0];
    Attributes classes{{"axes", std::vector<int64_t>{1}}};
    Value weighted = graph.add1("multiply", {dy[0], p}, {}, node.name);
    Value sum = graph.add1("reduce_sum", {weighted}, classes, node.name);
    Value minus = graph.add1("scale", {sum}, {{"factor", -1.0}}, node.name);
    Attributes shape{{"shape", graph.type(p).shape.dims()}, {"axes", std::vector<int64_t>{1}}};
    Value spread = graph.add1("broadcast", {minus}, shape, node.name);
    Value shared = graph.add1("multiply", {spread, p}, {}, node.name);
    return {graph.add1("add", {weighted, shared}, {}, node.name)};
  }
  Cost cost(const Call& call) const override {
    Cost cost = Operation::cost(call);
    cost.flops = 4 * static_cast<double>(call.outputs[0].shape.elements());
    return cost;
  }
};

const Register<Softmax> softmax;

}  // namespace
}  // namespace lathe
