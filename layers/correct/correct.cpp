// Top-1: 1 where the first maximum of a row of logits is at its label, otherwise 0. A row with a NaN is
// wrong.
#include "layers/layer.h"

namespace lathe {
namespace {

// inputs: logits [N, K], labels i32[N]   output: f32[N]. No gradient.
struct Correct final : Operation {
  std::string_view name() const override { return "correct"; }
  std::vector<Type> infer(const Call& call) const override {
    const Type &logits = call.inputs[0], &labels = call.inputs[1];
    require(logits.shape.rank() == 2, call, "accuracy needs logits [N, K], they are " + to_string(logits));
    require(labels == Type{DType::i32, {logits.shape[0]}, Layout::nchw}, call,
            "labels are " + to_string(labels) + ", logits are " + to_string(logits));
    return {{DType::f32, {logits.shape[0]}, Layout::nchw}};
  }
};

const Register<Correct> correct;

}  // namespace
}  // namespace lathe
