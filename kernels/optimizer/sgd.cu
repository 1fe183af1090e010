// Stochastic gradient descent with momentum, as PyTorch computes it (optimizer.h has the formula).
//
// Idea.   One thread an element, everything in one pass: unscaling, weight decay, momentum and update.
// Bytes.  8 read and 4 written an element, with momentum 12 and 8; about 6 operations.
// Bound.  Memory bandwidth.
#include "hostcuda/portable/launch.h"
#include "kernels/optimizer/optimizer.h"

namespace lathe::kernels {
namespace {

template <bool kMomentum>
__global__ void sgd_step(float* parameter, float* buffer, const float* gradient,  // [n] each
                         const float* lr, const float* gradient_scale, SgdOptions options, int64_t n LATHE_FLAT) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float scale = *gradient_scale;
  if (scale != scale) return;
  float g = gradient[i] * scale + options.weight_decay * parameter[i];
  if (kMomentum) {
    float moved = options.momentum * buffer[i] + g;
    buffer[i] = moved;
    g = options.nesterov ? g + options.momentum * moved : moved;
  }
  parameter[i] -= *lr * g;
}

}  // namespace

void sgd(float* parameter, float* buffer, const float* gradient, const float* lr, const float* gradient_scale,
         const SgdOptions& options, int64_t n, cudaStream_t stream) {
  constexpr int kThreads = 256;
  if (options.momentum != 0) {
    launch_flat<sgd_step<true>>(blocks_for(n, kThreads), kThreads, stream, parameter, buffer, gradient, lr,
                                gradient_scale, options, n);
  } else {
    launch_flat<sgd_step<false>>(blocks_for(n, kThreads), kThreads, stream, parameter, buffer, gradient, lr,
                                 gradient_scale, options, n);
  }
}

}  // namespace lathe::kernels
