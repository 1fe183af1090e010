// Batch normalisation.  y = (x − mean)/sqrt(variance + epsilon)·gamma + beta for each channel (axis 1), over
// samples and positions. Training uses the batch's own statistics (biased variance) and moves the running
// ones: new = (1 − momentum)·old + momentum·batch, with the unbiased variance. Inference uses the running
// ones. Statistics and parameters are f32 whatever x is.
#include "layers/layer.h"

namespace lathe {
namespace {

void require_channels(const Call& call, size_t first, size_t last) {
  const Type& x = call.inputs[0];
  require(x.shape.rank() >= 2, call, "batch norm needs an axis of channels, x is " + to_string(x));
  Type expected{DType::f32, {x.shape[1]}, Layout::nchw};
  for (size_t i = first; i < last; ++i) {
    require(call.inputs[i] == expected, call,
            "batch norm's operand " + std::to_string(i) + " is " + to_string(call.inputs[i]) + ", x is " +
                to_string(x));
  }
}

Cost channel_cost(const Call& call, double flops_per_element, const Operation& operation) {
  Cost cost = operation.Operation::cost(call);
  cost.flops = flops_per_element * static_cast<double>(call.inputs[0].shape.elements());
  return cost;
}

// inputs: x, gamma, beta, running_mean, running_var   outputs: y, mean, variance, running_mean', running_var'
// Attributes: epsilon, momentum reals. Refused where a channel has one value: its unbiased variance is 0/0.
struct BatchNorm final : Operation {
  std::string_view name() const override { return "batch_norm"; }
  std::vector<Type> infer(const Call& call) const override {
    require_channels(call, 1, 5);
    const Type &x = call.inputs[0], &statistic = call.inputs[1];
    require(x.shape.elements() > x.shape[1], call,
            "batch norm needs more than one value a channel while training, x is " + to_string(x) +
                "; use a larger batch or larger pictures");
    return {x, statistic, statistic, statistic, statistic};
  }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>&) const override {
    if (!dy[0]) return std::vector<Value>(5);
    Attributes attributes{{"epsilon", node.attributes.real("epsilon")}};
    std::vector<Value> gradients = graph.add(
        "batch_norm_gradient", {node.inputs[0], dy[0], node.inputs[1], node.outputs[1], node.outputs[2]},
        attributes, node.name);
    return {gradients[0], gradients[1], gradients[2], Value{}, Value{}};
  }
  Cost cost(const Call& call) const override { return channel_cost(call, 7, *this); }
  Alias alias(const Call&, int output) const override {
    return output >= 3 ? Alias{Alias::update, output} : Alias{};
  }
  LayoutRule input_layout(const Call&, int input) const override {
    return input == 0 ? LayoutRule::tied : LayoutRule::row_major;
  }
  LayoutRule output_layout(const Call&, int output) const override {
    return output == 0 ? LayoutRule::tied : LayoutRule::row_major;
  }
};

// inputs: x, dy, gamma, mean, variance   outputs: dx, dgamma, dbeta.  Attribute: epsilon real.
struct BatchNormGradient final : Operation {
  std::string_view name() const override { return "batch_norm_gradient"; }
  std::vector<Type> infer(const Call& call) const override {
    require_channels(call, 2, 5);
    require(call.inputs[0] == call.inputs[1], call,
            "x is " + to_string(call.inputs[0]) + " but dy is " + to_string(call.inputs[1]));
    return {call.inputs[0], call.inputs[2], call.inputs[2]};
  }
  Cost cost(const Call& call) const override { return channel_cost(call, 10, *this); }
  LayoutRule input_layout(const Call&, int input) const override {
    return input < 2 ? LayoutRule::tied : LayoutRule::row_major;
  }
  LayoutRule output_layout(const Call&, int output) const override {
    return output == 0 ? LayoutRule::tied : LayoutRule::row_major;
  }
};

// inputs: x, gamma, beta, running_mean, running_var   output: y.  Attribute: epsilon real.
struct BatchNormInference final : Operation {
  std::string_view name() const override { return "batch_norm_inference"; }
  std::vector<Type> infer(const Call& call) const override {
    require_channels(call, 1, 5);
    return {call.inputs[0]};
  }
  // The statistics are constants here: dx = dy·gamma/σ, dgamma = Σ dy·(x − mean)/σ, dbeta = Σ dy.
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>& wanted) const override {
    Type statistic = graph.type(node.inputs[1]);
    Value mean = node.inputs[3], variance = node.inputs[4], zeros = graph.constant(statistic, 0);
    std::vector<Value> gradients(5);
    if (wanted[0]) {
      gradients[0] = graph.add1("batch_norm_inference", {dy[0], node.inputs[1], zeros, zeros, variance},
                                node.attributes, node.name);
    }
    if (wanted[1]) {
      Value ones = graph.constant(statistic, 1);
      Value normalised = graph.add1("batch_norm_inference", {node.inputs[0], ones, zeros, mean, variance},
                                    node.attributes, node.name);
      Value product = graph.add1("multiply", {normalised, dy[0]}, {}, node.name);
      gradients[1] = graph.add1("bias_gradient", {product}, {}, node.name);
    }
    if (wanted[2]) gradients[2] = graph.add1("bias_gradient", {dy[0]}, {}, node.name);
    return gradients;
  }
  Cost cost(const Call& call) const override { return channel_cost(call, 3, *this); }
  Alias alias(const Call&, int) const override { return {Alias::reuse, 0}; }
  LayoutRule input_layout(const Call&, int input) const override {
    return input == 0 ? LayoutRule::tied : LayoutRule::row_major;
  }
  LayoutRule output_layout(const Call&, int) const override { return LayoutRule::tied; }
};

const Register<BatchNorm> batch_norm;
const Register<BatchNormGradient> batch_norm_gradient;
const Register<BatchNormInference> batch_norm_inference;

}  // namespace
}  // namespace lathe
