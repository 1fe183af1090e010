// The batch normalisation ladder: training forward and backward, over samples and positions, for N,C,H,W
// tensors in any layout, fp32.
//
// Every rung takes any shape with at least two values a channel, and any alignment of a float.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/activation.h"

namespace lathe::kernels {

// mean and variance (biased) of x, and y = (x − mean) · gamma / sqrt(variance + epsilon) + beta; rung 3:
// y = max(that, 0). The running statistics are updated in place, with the unbiased variance:
//   new = (1 − momentum)·old + momentum·batch
struct BatchNorm {
  const float* x;           // [shape]
  const float* gamma;       // [channels]
  const float* beta;        // [channels]
  float* y;                 // [shape]; may be x
  float* mean;              // [channels]
  float* variance;          // [channels]
  float* running_mean;      // [channels]
  float* running_variance;  // [channels]
  Activation shape;
  double momentum, epsilon;
  float* workspace;  // [channels]
};

// With x̂ = (x − mean) / sqrt(variance + epsilon) and m values a channel; rung 3: with dy = 0 where y ≤ 0:
//   dbeta = Σ dy,  dgamma = Σ dy·x̂,  dx = gamma / sqrt(variance + epsilon) · (dy − dbeta/m − x̂·dgamma/m)
struct BatchNormGradient {
  const float* x;         // [shape]
  const float* y;         // [shape]; rung 3
  const float* dy;        // [shape]
  const float* gamma;     // [channels]
  const float* mean;      // [channels]
  const float* variance;  // [channels]
  float* dx;              // [shape]
  float* dgamma;          // [channels]
  float* dbeta;           // [channels]
  Activation shape;
  double epsilon;
  float* workspace;  // [3 · channels]
};

void batch_norm_two_pass(const BatchNorm& problem, cudaStream_t stream);            // 01
void batch_norm_two_pass(const BatchNormGradient& problem, cudaStream_t stream);    // 01
void batch_norm_welford(const BatchNorm& problem, cudaStream_t stream);             // 02
void batch_norm_welford(const BatchNormGradient& problem, cudaStream_t stream);     // 02
void batch_norm_fused_relu(const BatchNorm& problem, cudaStream_t stream);          // 03
void batch_norm_fused_relu(const BatchNormGradient& problem, cudaStream_t stream);  // 03

// Rung 2's statistics alone: everything of BatchNorm but y.
void batch_norm_welford_statistics(const BatchNorm& problem, cudaStream_t stream);

}  // namespace lathe::kernels
