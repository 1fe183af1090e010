// Writing into state.
//   assign      destination, source → destination'    destination' = source, any type
//   accumulate  total, g → total'                     total' = total + g, f32: gradients summed over batches
#include "layers/layer.h"

namespace lathe {
namespace {

std::vector<Type> infer_update(const Call& call) {
  require(call.inputs.size() == 2, call, "takes two inputs, not " + std::to_string(call.inputs.size()));
  require(call.inputs[0] == call.inputs[1], call,
          "destination is " + to_string(call.inputs[0]) + " but source is " + to_string(call.inputs[1]));
  return {call.inputs[0]};
}

struct Assign final : Operation {
  std::string_view name() const override { return "assign"; }
  std::vector<Type> infer(const Call& call) const override { return infer_update(call); }
  Cost cost(const Call& call) const override {
    return {0, 2.0 * static_cast<double>(call.inputs[0].bytes())};  // the destination is not read
  }
  Alias alias(const Call&, int) const override { return {Alias::update, 0}; }
};

struct Accumulate final : Operation {
  std::string_view name() const override { return "accumulate"; }
  std::vector<Type> infer(const Call& call) const override {
    std::vector<Type> types = infer_update(call);
    require(types[0].dtype == DType::f32, call, "sums f32 only, not " + to_string(types[0]));
    return types;
  }
  Cost cost(const Call& call) const override {
    auto n = static_cast<double>(call.inputs[0].shape.elements());
    return {n, 12 * n};
  }
  Alias alias(const Call&, int) const override { return {Alias::update, 0}; }
};

const Register<Assign> assign;
const Register<Accumulate> accumulate;

}  // namespace
}  // namespace lathe
