// Adam and AdamW, as PyTorch computes them (optimizer.h has the formula).
//
// Idea.   One thread works out the two numbers that all elements share (their powers want double precision), then
//         one thread an element does everything in one pass.
// Bytes.  16 read and 12 written an element; about 15 operations, one root, one division.
// Bound.  Memory bandwidth.
#include <cmath>

#include "hostcuda/portable/launch.h"
#include "kernels/optimizer/optimizer.h"

namespace lathe::kernels {
namespace {

struct AdamStep {
  float rate;       // lr / (1 − beta1^t)
  float root_scale;  // 1 / sqrt(1 − beta2^t)
};
static_assert(sizeof(AdamStep) == kAdamWorkspaceBytes);

__global__ void adam_corrections(const float* lr, const int64_t* update_count, AdamOptions options,
                                 AdamStep* step LATHE_FLAT) {
  if (threadIdx.x != 0) return;
  auto t = static_cast<double>(*update_count);
  step->rate = static_cast<float>(static_cast<double>(*lr) / (1 - pow(options.beta1, t)));
  step->root_scale = static_cast<float>(1 / sqrt(1 - pow(options.beta2, t)));
}

// The options as the elements use them.
struct AdamFactors {
  float beta1, new1, beta2, new2, epsilon, weight_decay;
  bool decoupled;
};

__global__ void adam_step(float* parameter, float* m, float* v, const float* gradient,  // [n] each
                          const float* lr, const float* gradient_scale, const AdamStep* step, AdamFactors a,
                          int64_t n LATHE_FLAT) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float scale = *gradient_scale;
  if (scale != scale) return;
  float g = gradient[i] * scale, p = parameter[i];
  if (a.decoupled) {
    p -= *lr * a.weight_decay * p;
  } else {
    g += a.weight_decay * p;
  }
  float mean = a.beta1 * m[i] + a.new1 * g;
  float square = a.beta2 * v[i] + a.new2 * g * g;
  m[i] = mean;
  v[i] = square;
  parameter[i] = p - step->rate * mean / (sqrtf(square) * step->root_scale + a.epsilon);
}

}  // namespace

void adam(float* parameter, float* m, float* v, const float* gradient, const float* lr, const int64_t* update_count,
          const float* gradient_scale, const AdamOptions& options, int64_t n, void* workspace, cudaStream_t stream) {
  constexpr int kThreads = 256;
  auto* step = static_cast<AdamStep*>(workspace);
  AdamFactors factors{static_cast<float>(options.beta1), static_cast<float>(1 - options.beta1),
                      static_cast<float>(options.beta2), static_cast<float>(1 - options.beta2),
                      static_cast<float>(options.epsilon), static_cast<float>(options.weight_decay), options.decoupled};
  launch_flat<adam_corrections>(1, 1, stream, lr, update_count, options, step);
  launch_flat<adam_step>(blocks_for(n, kThreads), kThreads, stream, parameter, m, v, gradient, lr, gradient_scale, step,
                         factors, n);
}

}  // namespace lathe::kernels
