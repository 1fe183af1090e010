// Adam, and AdamW where decoupled: PyTorch's formulas (kernels/optimizer/optimizer.h), in place.
//   inputs   parameter, gradient, m, v, lr f32[], update_count i64[] (1 for the first update), gradient_scale
//   f32[] outputs  parameter', m', v' attributes  beta1, beta2, epsilon, weight_decay (reals), decoupled (0
//   or 1)
// A NaN gradient_scale skips the step: nothing changes (and whoever counts updates must not count it).
#include "layers/layer.h"

namespace lathe {
namespace {

struct Adam final : Operation {
  std::string_view name() const override { return "adam"; }

  std::vector<Type> infer(const Call& call) const override {
    for (const char* beta : {"beta1", "beta2"}) {
      double value = call.attributes.real(beta);
      require(value >= 0 && value < 1, call, std::string(beta) + " must be at least 0 and less than 1");
    }
    require(call.attributes.real("epsilon") > 0, call, "epsilon must be positive");
    require(call.attributes.real("weight_decay") >= 0, call, "weight decay must not be negative");
    require(call.inputs.size() == 7, call, "takes 7 inputs, not " + std::to_string(call.inputs.size()));
    for (size_t i = 1; i < 4; ++i)
      require(call.inputs[i] == call.inputs[0], call,
              "parameter is " + to_string(call.inputs[0]) + " but input " + std::to_string(i) + " is " +
                  to_string(call.inputs[i]));
    require(call.inputs[4] == Type{} && call.inputs[5] == Type{DType::i64, {}} && call.inputs[6] == Type{},
            call, "learning rate and gradient scale must be f32 scalars, the update count an i64 scalar");
    return std::vector<Type>(3, call.inputs[0]);
  }

  Cost cost(const Call& call) const override {
    Cost cost = Operation::cost(call);
    cost.flops = 15.0 * static_cast<double>(call.inputs[0].shape.elements());
    return cost;
  }
  Alias alias(const Call&, int output) const override {
    return {Alias::update, output == 0 ? 0 : output + 1};
  }
};

const Register<Adam> adam;

}  // namespace
}  // namespace lathe
