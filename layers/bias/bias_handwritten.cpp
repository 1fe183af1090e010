// Bias through our own kernels.
#include "kernels/elementwise/elementwise.h"
#include "kernels/reduce/reduce.h"
#include "layers/step.h"

namespace lathe {
namespace {

Prepared prepare_forward(const Call& call, const Options&) {
  return kernel_step([shape = activation(call.inputs[0])](const Bindings& b, cudaStream_t stream) {
    kernels::bias(b.in<float>(0), b.in<float>(1), b.out<float>(0), shape, stream);
  });
}
const RegisterImplementation forward("bias", {"handwritten", only_f32, prepare_forward});

Prepared prepare_backward(const Call& call, const Options&) {
  kernels::Activation shape = activation(call.inputs[0]);
  return kernel_step(
      [shape](const Bindings& b, cudaStream_t stream) {
        kernels::channel_sum(b.in<float>(0), b.out<float>(0), shape, b.workspace, stream);
      },
      kernels::channel_sum_workspace(shape));
}
const RegisterImplementation backward("bias_gradient", {"handwritten", only_f32, prepare_backward});

}  // namespace
}  // namespace lathe
