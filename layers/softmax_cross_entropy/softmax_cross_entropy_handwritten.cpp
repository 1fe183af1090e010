// Cross-entropy through our own kernels.
#include "kernels/softmax/ladder.h"
#include "layers/step.h"

namespace lathe {
namespace {

Prepared prepare_forward(const Call& call, const Options&) {
  return kernel_step(
      [shape = call.inputs[0].shape, smoothing = static_cast<float>(call.attributes.real("smoothing"))](
          const Bindings& b, cudaStream_t stream) {
        kernels::softmax_warp_row({.logits = b.in<float>(0),
                                   .labels = b.in<int32_t>(1),
                                   .losses = b.out<float>(0),
                                   .rows = shape[0],
                                   .classes = shape[1],
                                   .smoothing = smoothing},
                                  stream);
      });
}
const RegisterImplementation forward("softmax_cross_entropy", {"handwritten", only_f32, prepare_forward});

Prepared prepare_backward(const Call& call, const Options&) {
  return kernel_step(
      [shape = call.inputs[0].shape, smoothing = static_cast<float>(call.attributes.real("smoothing"))](
          const Bindings& b, cudaStream_t stream) {
        kernels::softmax_warp_row({.logits = b.in<float>(0),
                                   .labels = b.in<int32_t>(1),
                                   .dlosses = b.in<float>(2),
                                   .dlogits = b.out<float>(0),
                                   .rows = shape[0],
                                   .classes = shape[1],
                                   .smoothing = smoothing},
                                  stream);
      });
}
const RegisterImplementation backward("softmax_cross_entropy_gradient",
                                      {"handwritten", only_f32, prepare_backward});

}  // namespace
}  // namespace lathe
