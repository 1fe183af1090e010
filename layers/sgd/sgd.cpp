// Stochastic gradient descent with momentum: PyTorch's formula (kernels/optimizer/optimizer.h), in place.
//   inputs   parameter, gradient, [momentum buffer where momentum ≠ 0], lr f32[], gradient_scale f32[]
//   outputs  parameter', [momentum buffer']
//   attributes  momentum, weight_decay (reals), nesterov (0 or 1; without momentum the two forms are the
//   same)
// A NaN gradient_scale skips the step: nothing changes. A buffer of zeros stands for "no step yet".
#include "layers/layer.h"

namespace lathe {
namespace {

struct Sgd final : Operation {
  std::string_view name() const override { return "sgd"; }

  std::vector<Type> infer(const Call& call) const override {
    double momentum = call.attributes.real("momentum");
    require(momentum >= 0 && momentum < 1, call, "momentum must be at least 0 and less than 1");
    require(call.attributes.real("weight_decay") >= 0, call, "weight decay must not be negative");
    size_t tensors = momentum > 0 ? 3 : 2;
    require(call.inputs.size() == tensors + 2, call,
            "takes " + std::to_string(tensors + 2) + " inputs, not " + std::to_string(call.inputs.size()));
    for (size_t i = 1; i < tensors; ++i)
      require(call.inputs[i] == call.inputs[0], call,
              "parameter is " + to_string(call.inputs[0]) + " but input " + std::to_string(i) + " is " +
                  to_string(call.inputs[i]));
    for (size_t i = tensors; i < tensors + 2; ++i)
      require(call.inputs[i] == Type{}, call, "learning rate and gradient scale must be f32 scalars");
    return std::vector<Type>(tensors - 1, call.inputs[0]);
  }

  Cost cost(const Call& call) const override {
    Cost cost = Operation::cost(call);
    cost.flops = (call.outputs.size() > 1 ? 8.0 : 5.0) * static_cast<double>(call.inputs[0].shape.elements());
    return cost;
  }
  Alias alias(const Call&, int output) const override { return {Alias::update, output == 0 ? 0 : 2}; }
};

const Register<Sgd> sgd;

}  // namespace
}  // namespace lathe
