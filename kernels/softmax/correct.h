// Top-1: whether a row's largest logit is the one that its label names.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lathe::kernels {

// y[n] = 1 where the first maximum of the row is at its label, otherwise 0; a row with a NaN is wrong.
// logits: [rows, classes]   labels, y: [rows]
void correct(const float* logits, const int32_t* labels, float* y, int64_t rows, int64_t classes,
             cudaStream_t stream);

}  // namespace lathe::kernels
