// Softmax through our own kernel.
#include "kernels/softmax/ladder.h"
#include "layers/step.h"

namespace lathe {
namespace {

Prepared prepare_forward(const Call& call, const Options&) {
  return kernel_step([shape = call.inputs[0].shape](const Bindings& b, cudaStream_t stream) {
    kernels::softmax_warp_row(
        {.logits = b.in<float>(0), .p = b.out<float>(0), .rows = shape[0], .classes = shape[1]}, stream);
  });
}
const RegisterImplementation forward("softmax", {"handwritten", only_f32, prepare_forward});

}  // namespace
}  // namespace lathe
