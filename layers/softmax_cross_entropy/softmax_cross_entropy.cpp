// Softmax and cross-entropy in one, so that no probability is ever rounded to 0 before its logarithm.
//   loss = (1 − smoothing)·(−log p[label]) + smoothing/K·Σ_k −log p[k]
// A row with a logit that is not finite, or a label outside [0, K), has the loss NaN: divergence must be
// seen.
#include "layers/layer.h"

namespace lathe {
namespace {

void require_rows(const Call& call) {
  const Type &logits = call.inputs[0], &labels = call.inputs[1];
  require(logits.shape.rank() == 2 && logits.shape[1] > 0, call,
          "cross-entropy needs logits [N, K], they are " + to_string(logits));
  require(labels == Type{DType::i32, {logits.shape[0]}, Layout::nchw}, call,
          "labels are " + to_string(labels) + ", logits are " + to_string(logits));
}

void require_smoothing(const Call& call) {
  double smoothing = call.attributes.real("smoothing");
  require(smoothing >= 0 && smoothing <= 1, call,
          "label smoothing must lie in 0 … 1, it is " + std::to_string(smoothing));
}

Cost row_cost(const Call& call, const Operation& operation) {
  Cost cost = operation.Operation::cost(call);
  cost.flops = 5 * static_cast<double>(call.inputs[0].shape.elements());
  return cost;
}

// inputs: logits [N, K], labels i32[N]   output: losses f32[N].  Attribute: smoothing real in 0 … 1.
struct SoftmaxCrossEntropy final : Operation {
  std::string_view name() const override { return "softmax_cross_entropy"; }
  std::vector<Type> infer(const Call& call) const override {
    require_rows(call);
    require_smoothing(call);
    return {{DType::f32, {call.inputs[0].shape[0]}, Layout::nchw}};
  }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>&) const override {
    Value dlogits = graph.add1("softmax_cross_entropy_gradient", {node.inputs[0], node.inputs[1], dy[0]},
                               node.attributes, node.name);
    return {dlogits, Value{}};
  }
  Cost cost(const Call& call) const override { return row_cost(call, *this); }
};

// inputs: logits, labels, dlosses f32[N]   output: dlogits.  Attribute: smoothing real.
struct SoftmaxCrossEntropyGradient final : Operation {
  std::string_view name() const override { return "softmax_cross_entropy_gradient"; }
  std::vector<Type> infer(const Call& call) const override {
    require_rows(call);
    require_smoothing(call);
    require(call.inputs[2] == Type{DType::f32, {call.inputs[0].shape[0]}, Layout::nchw}, call,
            "dlosses are " + to_string(call.inputs[2]) + ", logits are " + to_string(call.inputs[0]));
    return {call.inputs[0]};
  }
  Cost cost(const Call& call) const override { return row_cost(call, *this); }
};

const Register<SoftmaxCrossEntropy> softmax_cross_entropy;
const Register<SoftmaxCrossEntropyGradient> softmax_cross_entropy_gradient;

}  // namespace
}  // namespace lathe
