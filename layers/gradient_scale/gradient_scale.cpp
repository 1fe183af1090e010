// The factor for every gradient before the update: undoes the loss scale and clips the norm over all
// parameters.
//   inputs   g1, g2, … (f32, any shapes), loss_scale f32[]
//   output   f32[] = 1/loss_scale · min(1, max_norm/norm),  norm = sqrt(Σ g²)/loss_scale
//   attribute  max_norm (real; 0: no clipping)
// NaN, which skips the step, where the norm is not finite: one infinite or NaN gradient anywhere.
#include "layers/layer.h"

namespace lathe {
namespace {

struct GradientScale final : Operation {
  std::string_view name() const override { return "gradient_scale"; }

  std::vector<Type> infer(const Call& call) const override {
    double max_norm = call.attributes.real("max_norm");
    require(max_norm >= 0, call, "the largest gradient norm must be 0 (no clipping) or more");
    require(call.inputs.size() >= 2, call, "takes at least one gradient and the loss scale");
    for (const Type& type : call.inputs)
      require(type.dtype == DType::f32, call, "gradients and loss scale must be f32, not " + to_string(type));
    require(call.inputs.back() == Type{}, call, "the loss scale must be a scalar");
    return {Type{}};
  }

  Cost cost(const Call& call) const override {
    Cost cost = Operation::cost(call);
    for (const Type& type : call.inputs) cost.flops += 2.0 * static_cast<double>(type.shape.elements());
    return cost;
  }
};

const Register<GradientScale> gradient_scale;

}  // namespace
}  // namespace lathe
