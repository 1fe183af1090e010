// Max pooling through our own kernels. There is no library implementation: oneDNN's loses NaN and keeps its
// positions in a workspace of its own.
#include "kernels/pool/ladder.h"
#include "layers/pool.h"

namespace lathe {
namespace {

Prepared prepare_forward(const Call& call, const Options&) {
  return kernel_step([pool = pool_of(call.attributes, call.inputs[0], call.outputs[0])](const Bindings& b,
                                                                                        cudaStream_t stream) {
    kernels::max_pool_direct(
        kernels::MaxPool<float>{b.in<float>(0), b.out<float>(0), b.out<uint8_t>(1), pool}, stream);
  });
}
const RegisterImplementation forward("max_pool", {"handwritten", only_f32, prepare_forward});

Prepared prepare_backward(const Call& call, const Options&) {
  return kernel_step([pool = pool_of(call.attributes, call.outputs[0], call.inputs[1])](const Bindings& b,
                                                                                        cudaStream_t stream) {
    kernels::max_pool_direct(
        kernels::MaxPoolGradient<float>{b.in<uint8_t>(0), b.in<float>(1), b.out<float>(0), pool}, stream);
  });
}
const RegisterImplementation backward("max_pool_gradient", {"handwritten", only_f32, prepare_backward});

}  // namespace
}  // namespace lathe
