// Batch normalisation over samples and positions, for N,C,H,W tensors in any layout.
// x, y, dy, dx: an activation; everything else [channels].
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/activation.h"

namespace lathe::kernels {

// mean and (biased) variance of each channel, by two passes. Updates the running statistics in place:
// new = (1 − momentum)·old + momentum·batch, with the unbiased variance; needs two values a channel.
void batch_norm_statistics(const float* x, float* mean, float* variance, float* running_mean,
                           float* running_variance, const Activation& shape, double momentum,
                           cudaStream_t stream);

// y = (x − mean) · gamma / sqrt(variance + epsilon) + beta.  y may be x.  workspace: float[channels]
void batch_norm_apply(const float* x, const float* gamma, const float* beta, const float* mean,
                      const float* variance, float* y, const Activation& shape, double epsilon,
                      float* workspace, cudaStream_t stream);

// With x̂ = (x − mean) / sqrt(variance + epsilon) and m values a channel:
//   dbeta = Σ dy,  dgamma = Σ dy·x̂,  dx = gamma / sqrt(variance + epsilon) · (dy − dbeta/m − x̂·dgamma/m)
// workspace: float[3 · channels]
void batch_norm_gradient(const float* x, const float* dy, const float* gamma, const float* mean,
                         const float* variance, float* dx, float* dgamma, float* dbeta,
                         const Activation& shape, double epsilon, float* workspace, cudaStream_t stream);

}  // namespace lathe::kernels
