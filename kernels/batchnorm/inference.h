// Batch normalisation with the running statistics, for N,C,H,W tensors in any layout.
#pragma once

#include <cuda_runtime.h>

#include "kernels/activation.h"

namespace lathe::kernels {

// y = (x − mean) · gamma / sqrt(variance + epsilon) + beta.  x, y: [shape], y may be x   workspace and the
// others: [channels]
void batch_norm_inference(const float* x, const float* gamma, const float* beta, const float* mean,
                          const float* variance, float* y, const Activation& shape, double epsilon,
                          float* workspace, cudaStream_t stream);

}  // namespace lathe::kernels
