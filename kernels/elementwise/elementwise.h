// Elementwise kernels: every element of the output depends on the same element of the inputs.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lathe::kernels {

// y[i] = max(x[i], 0), NaN kept.  x, y: [n]; may be the same buffer.
void relu(const float* x, float* y, int64_t n, cudaStream_t stream);
// dx[i] = y[i] > 0 ? dy[i] : 0.  All [n]; dx may be dy.
void relu_gradient(const float* y, const float* dy, float* dx, int64_t n, cudaStream_t stream);

}  // namespace lathe::kernels
