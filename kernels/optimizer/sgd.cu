// Stochastic gradient descent with momentum, as PyTorch computes it (optimizer.h has the formula).
//
// Idea.   One thread an element, everything in one pass: unscaling, weight decay, momentum and update.
// Bytes.  8 read and 4 written an element, with momentum 12 and 8; about 6 operations.
// Bound.  Memory bandwidth.
#include "hostcuda/portable/launch.h"
#include "kernels/optimizer/optimizer.h"

namespace lathe::kernels {
namespace {

// Where the step is skipped, old values are written back: a branch would keep g++ from vectorising.
template <bool kMomentum>
__global__ void sgd_step(float* parameter, float* buffer,
                         const float* gradient,  // [n] each
                         const float* lr, const float* gradient_scale, SgdOptions options,
                         int64_t n LATHE_FLAT) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  float rate = *lr, scale = *gradient_scale;
  bool skip = scale != scale;
  if (i < n) {
    float p = parameter[i];
    float g = gradient[i] * scale + options.weight_decay * p;
    if (kMomentum) {
      float before = buffer[i];
      float moved = options.momentum * before + g;
      buffer[i] = skip ? before : moved;
      g = options.nesterov ? g + options.momentum * moved : moved;
    }
    parameter[i] = skip ? p : p - rate * g;
  }
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
