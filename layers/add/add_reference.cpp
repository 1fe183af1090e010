// The oracle: addition written plainly.
#include "layers/step.h"

namespace lathe {
namespace {

Prepared prepare_forward(const Call& call, const Options&) {
  return reference_step([n = call.outputs[0].shape.elements()](const Bindings& b) {
    for (int64_t i = 0; i < n; ++i) b.out<float>(0)[i] = b.in<float>(0)[i] + b.in<float>(1)[i];
  });
}
const RegisterImplementation forward("add", {"reference", only_f32, prepare_forward});

}  // namespace
}  // namespace lathe
