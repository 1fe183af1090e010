// Batch normalisation through our own kernels.
#include "kernels/batchnorm/inference.h"
#include "kernels/batchnorm/ladder.h"
#include "layers/step.h"

namespace lathe {
namespace {

int64_t channel_bytes(const Call& call, int64_t floats) {
  return call.inputs[0].shape[1] * floats * static_cast<int64_t>(sizeof(float));
}

Prepared prepare_training(const Call& call, const Options&) {
  return kernel_step(
      [shape = activation(call.inputs[0]), epsilon = call.attributes.real("epsilon"),
       momentum = call.attributes.real("momentum")](const Bindings& b, cudaStream_t stream) {
        kernels::batch_norm_two_pass(
            kernels::BatchNorm{b.in<float>(0), b.in<float>(1), b.in<float>(2), b.out<float>(0),
                               b.out<float>(1), b.out<float>(2), b.out<float>(3), b.out<float>(4), shape,
                               momentum, epsilon, static_cast<float*>(b.workspace)},
            stream);
      },
      channel_bytes(call, 1));
}
const RegisterImplementation training("batch_norm", {"handwritten", only_f32, prepare_training});

Prepared prepare_backward(const Call& call, const Options&) {
  return kernel_step(
      [shape = activation(call.inputs[0]), epsilon = call.attributes.real("epsilon")](const Bindings& b,
                                                                                      cudaStream_t stream) {
        kernels::batch_norm_welford(
            kernels::BatchNormGradient{b.in<float>(0), nullptr, b.in<float>(1), b.in<float>(2),
                                       b.in<float>(3), b.in<float>(4), b.out<float>(0), b.out<float>(1),
                                       b.out<float>(2), shape, epsilon, static_cast<float*>(b.workspace)},
            stream);
      },
      channel_bytes(call, 3));
}
const RegisterImplementation backward("batch_norm_gradient", {"handwritten", only_f32, prepare_backward});

Prepared prepare_inference(const Call& call, const Options&) {
  return kernel_step(
      [shape = activation(call.inputs[0]), epsilon = call.attributes.real("epsilon")](const Bindings& b,
                                                                                      cudaStream_t stream) {
        kernels::batch_norm_inference(b.in<float>(0), b.in<float>(1), b.in<float>(2), b.in<float>(3),
                                      b.in<float>(4), b.out<float>(0), shape, epsilon,
                                      static_cast<float*>(b.workspace), stream);
      },
      channel_bytes(call, 1));
}
const RegisterImplementation inference("batch_norm_inference", {"handwritten", only_f32, prepare_inference});

}  // namespace
}  // namespace lathe
