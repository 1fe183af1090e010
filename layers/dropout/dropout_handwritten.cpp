// Dropout through our own kernel.
#include "kernels/elementwise/elementwise.h"
#include "layers/step.h"

namespace lathe {
namespace {

Prepared prepare_forward(const Call& call, const Options&) {
  const Type& x = call.inputs[0];
  // A row-major tensor of any rank is one plane in its own order.
  kernels::Activation shape =
      x.layout == Layout::nchw ? kernels::Activation{1, 1, x.shape.elements(), 1} : activation(x);
  return kernel_step([shape, p = call.attributes.real("p"), layer = call.attributes.integer("layer")](
                         const Bindings& b, cudaStream_t stream) {
    kernels::dropout(b.in<float>(0), b.in<int64_t>(1), b.in<int64_t>(2), b.out<float>(0), shape, p, layer,
                     stream);
  });
}
const RegisterImplementation forward("dropout", {"handwritten", only_f32, prepare_forward});

}  // namespace
}  // namespace lathe
