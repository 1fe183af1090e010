// Scaling through our own kernel.
#include "kernels/elementwise/elementwise.h"
#include "layers/step.h"

namespace lathe {
namespace {

Prepared prepare_forward(const Call& call, const Options&) {
  float factor = static_cast<float>(call.attributes.real("factor"));
  return kernel_step([n = call.outputs[0].shape.elements(), factor](const Bindings& b, cudaStream_t stream) {
    kernels::scale(b.in<float>(0), factor, b.out<float>(0), n, stream);
  });
}
const RegisterImplementation forward("scale", {"handwritten", only_f32, prepare_forward});

}  // namespace
}  // namespace lathe
