// The oracle: scaling written plainly.
#include "layers/step.h"

namespace lathe {
namespace {

Prepared prepare_forward(const Call& call, const Options&) {
  float factor = static_cast<float>(call.attributes.real("factor"));
  return reference_step([n = call.outputs[0].shape.elements(), factor](const Bindings& b) {
    for (int64_t i = 0; i < n; ++i) b.out<float>(0)[i] = b.in<float>(0)[i] * factor;
  });
}
const RegisterImplementation forward("scale", {"reference", only_f32, prepare_forward});

}  // namespace
}  // namespace lathe
