// Adam and AdamW, as PyTorch computes them (optimizer.h has the formula).
//
// Idea.   One thread works out the few numbers that all elements share (their powers want double precision),
//         then one thread an element does everything in one pass.
// Bytes.  16 read and 12 written an element; about 15 operations, one root, one division.
// Bound.  Memory bandwidth.
#include <cmath>

#include "hostcuda/portable/launch.h"
#include "kernels/optimizer/optimizer.h"

namespace lathe::kernels {
namespace {

// What the elements of one update share.
struct AdamStep {
  float scale;       // of the gradient
  float kept;        // share of the parameter that decoupled decay leaves
  float rate;        // lr / (1 − beta1^t)
  float root_scale;  // 1 / sqrt(1 − beta2^t)
};
static_assert(sizeof(AdamStep) == kAdamWorkspaceBytes);

__global__ void prepare_step(const float* lr, const int64_t* update_count, const float* gradient_scale,
                             AdamOptions options, AdamStep* step LATHE_FLAT) {
  if (threadIdx.x != 0) return;
  double t = static_cast<double>(*update_count), rate = static_cast<double>(*lr);
  step->scale = *gradient_scale;
  step->kept = static_cast<float>(options.decoupled ? 1 - rate * options.weight_decay : 1);
  step->rate = static_cast<float>(rate / (1 - pow(options.beta1, t)));
  step->root_scale = static_cast<float>(1 / sqrt(1 - pow(options.beta2, t)));
}

// The options as the elements use them.
struct AdamFactors {
  float beta1, new1, beta2, new2, epsilon;
  float pull;  // weight decay as part of the gradient
};

// Where the step is skipped, old values are written back: a branch would keep g++ from vectorising.
__global__ void adam_step(float* parameter, float* m, float* v, const float* gradient,  // [n] each
                          const AdamStep* step, AdamFactors a, int64_t n LATHE_FLAT) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  float scale = step->scale, kept = step->kept, rate = step->rate, root_scale = step->root_scale;
  bool skip = scale != scale;
  if (i < n) {
    float p = parameter[i], old_mean = m[i], old_square = v[i];
    float g = gradient[i] * scale + a.pull * p;
    float mean = a.beta1 * old_mean + a.new1 * g;
    float square = a.beta2 * old_square + a.new2 * g * g;
    m[i] = skip ? old_mean : mean;
    v[i] = skip ? old_square : square;
    parameter[i] = skip ? p : kept * p - rate * mean / (sqrtf(square) * root_scale + a.epsilon);
  }
}

}  // namespace

void adam(float* parameter, float* m, float* v, const float* gradient, const float* lr,
          const int64_t* update_count, const float* gradient_scale, const AdamOptions& options, int64_t n,
          void* workspace, cudaStream_t stream) {
  constexpr int kThreads = 256;
  auto* step = static_cast<AdamStep*>(workspace);
  AdamFactors factors{
      static_cast<float>(options.beta1),   static_cast<float>(1 - options.beta1),
      static_cast<float>(options.beta2),   static_cast<float>(1 - options.beta2),
      static_cast<float>(options.epsilon), static_cast<float>(options.decoupled ? 0 : options.weight_decay)};
  launch_flat<prepare_step>(1, 1, stream, lr, update_count, gradient_scale, options, step);
  launch_flat<adam_step>(blocks_for(n, kThreads), kThreads, stream, parameter, m, v, gradient, step, factors,
                         n);
}

}  // namespace lathe::kernels
