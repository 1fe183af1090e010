// Cross-entropy through our own kernels.
#include "kernels/softmax/softmax.h"
#include "layers/step.h"

namespace lathe {
namespace {

Prepared prepare_forward(const Call& call, const Options&) {
  return kernel_step([shape = call.inputs[0].shape, smoothing = call.attributes.real("smoothing")](
                         const Bindings& b, cudaStream_t stream) {
    kernels::softmax_cross_entropy(b.in<float>(0), b.in<int32_t>(1), b.out<float>(0), shape[0], shape[1],
                                   smoothing, stream);
  });
}
const RegisterImplementation forward("softmax_cross_entropy", {"handwritten", only_f32, prepare_forward});

Prepared prepare_backward(const Call& call, const Options&) {
  return kernel_step([shape = call.inputs[0].shape, smoothing = call.attributes.real("smoothing")](
                         const Bindings& b, cudaStream_t stream) {
    kernels::softmax_cross_entropy_gradient(b.in<float>(0), b.in<int32_t>(1), b.in<float>(2), b.out<float>(0),
                                            shape[0], shape[1], smoothing, stream);
  });
}
const RegisterImplementation backward("softmax_cross_entropy_gradient",
                                      {"handwritten", only_f32, prepare_backward});

}  // namespace
}  // namespace lathe
