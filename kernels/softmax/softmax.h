// Softmax and its cross-entropy loss, row by row.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lathe::kernels {

// p[n, k] = exp(x[n, k] − max) / Σ exp.  x, p: [rows, classes]
void softmax(const float* x, float* p, int64_t rows, int64_t classes, cudaStream_t stream);

// losses[n] = (1 − smoothing) · −log p[n, label] + smoothing/classes · Σ_k −log p[n, k].
// NaN where a logit of the row is not finite or its label is not in [0, classes): divergence must be seen.
// logits: [rows, classes]   labels, losses: [rows]
void softmax_cross_entropy(const float* logits, const int32_t* labels, float* losses, int64_t rows,
                           int64_t classes, double smoothing, cudaStream_t stream);
// dlogits[n, k] = dlosses[n] · (p[n, k] − (1 − smoothing)·[k = label] − smoothing/classes), NaN as above.
void softmax_cross_entropy_gradient(const float* logits, const int32_t* labels, const float* dlosses,
                                    float* dlogits, int64_t rows, int64_t classes, double smoothing,
                                    cudaStream_t stream);

// y[n] = 1 where the first maximum of the row is at its label, otherwise 0; a row with a NaN is wrong.
void correct(const float* logits, const int32_t* labels, float* y, int64_t rows, int64_t classes,
             cudaStream_t stream);

}  // namespace lathe::kernels
