// Multiplication through our own kernels.
#include "kernels/elementwise/elementwise.h"
#include "layers/step.h"

namespace lathe {
namespace {

Prepared prepare_forward(const Call& call, const Options&) {
  bool by_scalar = call.inputs[1].shape.rank() == 0;
  return kernel_step(
      [n = call.outputs[0].shape.elements(), by_scalar](const Bindings& b, cudaStream_t stream) {
        auto kernel = by_scalar ? kernels::multiply_by_scalar : kernels::multiply;
        kernel(b.in<float>(0), b.in<float>(1), b.out<float>(0), n, stream);
      });
}
const RegisterImplementation forward("multiply", {"handwritten", only_f32, prepare_forward});

}  // namespace
}  // namespace lathe
