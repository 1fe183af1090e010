// The oracle: changes of layout, element by element.
#include "layers/step.h"

namespace lathe {
namespace {

std::string only_f32_tensors(const Call& call) {
  return call.inputs[0].dtype == DType::f32 ? "" : "copies f32 only, not " + to_string(call.inputs[0]);
}

Prepared prepare_forward(const Call& call, const Options&) {
  return reference_step([view = channel_view(call.inputs[0]), from = ActivationIndex(call.inputs[0]),
                         to = ActivationIndex(call.outputs[0])](const Bindings& b) {
    for (int64_t n = 0; n < view.samples; ++n) {
      for (int64_t c = 0; c < view.channels(); ++c) {
        for (int64_t s = 0; s < view.spatial; ++s)
          b.out<float>(0)[to(n, c, s)] = b.in<float>(0)[from(n, c, s)];
      }
    }
  });
}
const RegisterImplementation forward("layout_change", {"reference", only_f32_tensors, prepare_forward});

}  // namespace
}  // namespace lathe
