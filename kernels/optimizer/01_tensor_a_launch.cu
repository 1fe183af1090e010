// Optimizer, rung 1: a launch for each tensor.  SGD with momentum, as PyTorch computes it; fp32.
//
// Idea.        One thread an element, everything in one pass: unscaling, weight decay, momentum and update.
//              Each tensor of the model has a launch of its own.
// Bytes.       8 read and 4 written an element, with momentum 12 and 8.
// Operations.  5 an element, with momentum 7.
// Bound.       Memory bandwidth in large tensors; the launches, some microseconds each, in small ones: half
//              of a network's tensors are biases of some hundred elements, which leave a GPU idle.
#include "hostcuda/portable/launch.h"
#include "kernels/optimizer/ladder.h"
#include "kernels/optimizer/sgd_update.cuh"

namespace lathe::kernels {
namespace {

constexpr int kThreads = 256;

template <bool kMomentum>
__global__ void sgd_01_tensor(float* parameter,       // [n]
                              float* buffer,          // [n]
                              const float* gradient,  // [n]
                              const float* lr, const float* gradient_scale, SgdOptions options,
                              int64_t n LATHE_FLAT) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const float rate = *lr, scale = *gradient_scale;
  if (i < n) sgd_update<kMomentum>(parameter, buffer, gradient, i, rate, scale, options);
}

}  // namespace

void sgd(float* parameter, float* buffer, const float* gradient, const float* lr, const float* gradient_scale,
         const SgdOptions& options, int64_t n, cudaStream_t stream) {
  if (options.momentum != 0) {
    launch_flat<sgd_01_tensor<true>>(blocks_for(n, kThreads), kThreads, stream, parameter, buffer, gradient,
                                     lr, gradient_scale, options, n);
  } else {
    launch_flat<sgd_01_tensor<false>>(blocks_for(n, kThreads), kThreads, stream, parameter, buffer, gradient,
                                      lr, gradient_scale, options, n);
  }
}

void sgd_tensor_a_launch(const Sgd& p, cudaStream_t stream) {
  for (const SgdTensor& t : p.tensors)
    sgd(t.parameter, t.buffer, t.gradient, p.lr, p.gradient_scale, p.options, t.n, stream);
}

}  // namespace lathe::kernels
