// The oracle: multiplication written plainly.
#include "layers/step.h"

namespace lathe {
namespace {

Prepared prepare_forward(const Call& call, const Options&) {
  int64_t b_step = call.inputs[1].shape.rank() == 0 ? 0 : 1;
  return reference_step([n = call.outputs[0].shape.elements(), b_step](const Bindings& b) {
    for (int64_t i = 0; i < n; ++i) b.out<float>(0)[i] = b.in<float>(0)[i] * b.in<float>(1)[i * b_step];
  });
}
const RegisterImplementation forward("multiply", {"reference", only_f32, prepare_forward});

}  // namespace
}  // namespace lathe
