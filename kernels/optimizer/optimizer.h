// Kernels of the parameter update: SGD, Adam, the gradient scale with its clip norm, accumulation.
// They work in place on state. A NaN gradient scale means a skipped step: nothing is changed.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lathe::kernels {

struct SgdOptions {
  float momentum = 0, weight_decay = 0;
  bool nesterov = false;
};
// PyTorch's SGD with dampening 0, over n elements (all pointers [n] but lr and gradient_scale, one number
// each):
//   g = gradient·gradient_scale + weight_decay·parameter
//   buffer = momentum·buffer + g;   g = nesterov ? g + momentum·buffer : buffer       (where momentum ≠ 0)
//   parameter −= lr·g
// buffer is nullptr where momentum is 0; a buffer of zeros before the first step gives PyTorch's first step.
void sgd(float* parameter, float* buffer, const float* gradient, const float* lr, const float* gradient_scale,
         const SgdOptions& options, int64_t n, cudaStream_t stream);

struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  bool decoupled = false;
};
constexpr int64_t kAdamWorkspaceBytes = 4 * sizeof(float);
// PyTorch's Adam (AdamW where decoupled), for update number t = update_count[0], the first being 1:
//   g = gradient·gradient_scale (+ weight_decay·parameter)
//   decoupled: parameter −= lr·weight_decay·parameter
//   m = beta1·m + (1 − beta1)·g;   v = beta2·v + (1 − beta2)·g²
//   parameter −= lr/(1 − beta1^t) · m / (sqrt(v)/sqrt(1 − beta2^t) + epsilon)
void adam(float* parameter, float* m, float* v, const float* gradient, const float* lr,
          const int64_t* update_count, const float* gradient_scale, const AdamOptions& options, int64_t n,
          void* workspace, cudaStream_t stream);

// scale[0] = 1/loss_scale · min(1, max_norm/norm) with norm = sqrt(Σ sums)/loss_scale; max_norm 0 does not
// clip. (PyTorch divides by norm + 1e-6.) NaN where norm is not finite, or loss_scale no finite number above
// 0. sums: [count], of squares: reduce_to_partials() of every tensor.
void gradient_scale(const double* sums, int64_t count, const float* loss_scale, double max_norm, float* scale,
                    cudaStream_t stream);

// total[i] += x[i].  Both [n].
void accumulate(float* total, const float* x, int64_t n, cudaStream_t stream);

}  // namespace lathe::kernels
