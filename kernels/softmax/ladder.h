// The softmax ladder: from rows of logits to probabilities, cross-entropy losses and their gradient, fp32.
//
// Every rung takes any number of rows and classes and any alignment of a float.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lathe::kernels {

// A nullptr among the outputs: not wanted. p may be `logits`.
//   p[n,k]       = exp(x[n,k] − max) / Σ exp(x[n,·] − max)
//   losses[n]    = (1 − smoothing) · −log p[n,label] + smoothing/classes · Σ_k −log p[n,k]
//   dlogits[n,k] = dlosses[n] · (p[n,k] − (1 − smoothing)·[k = label] − smoothing/classes)
// losses and dlogits are NaN where a logit of the row is not finite or its label is not in [0, classes):
// divergence must be seen.
struct Softmax {
  const float* logits;              // [rows, classes]
  const int32_t* labels = nullptr;  // [rows]; for losses and dlogits
  const float* dlosses = nullptr;   // [rows]; for dlogits
  float* p = nullptr;               // [rows, classes]
  float* losses = nullptr;          // [rows]
  float* dlogits = nullptr;         // [rows, classes]
  int64_t rows, classes;
  float smoothing = 0;
};

void softmax_three_pass(const Softmax& problem, cudaStream_t stream);  // 01
void softmax_online(const Softmax& problem, cudaStream_t stream);      // 02
void softmax_warp_row(const Softmax& problem, cudaStream_t stream);    // 03

}  // namespace lathe::kernels
