// Elementwise kernels beside the ladder's (ladder.h): every element of the output depends on the same element
// of the inputs. Outputs may be one of the float inputs' buffers.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/activation.h"

namespace lathe::kernels {

// y[i] = max(x[i], 0), NaN kept.  x, y: [n]; may be the same buffer.
void relu(const float* x, float* y, int64_t n, cudaStream_t stream);
// dx[i] = y[i] > 0 ? dy[i] : 0.  All [n]; dx may be dy.
void relu_gradient(const float* y, const float* dy, float* dx, int64_t n, cudaStream_t stream);

// y[i] = a[i] · b[i].  All [n].
void multiply(const float* a, const float* b, float* y, int64_t n, cudaStream_t stream);
// y[i] = a[i] · b[0].  a, y: [n]
void multiply_by_scalar(const float* a, const float* b, float* y, int64_t n, cudaStream_t stream);
// y[i] = x[i] · factor.  x, y: [n]
void scale(const float* x, float factor, float* y, int64_t n, cudaStream_t stream);

// y = x + b[channel].  x, y: an activation; b: [channels]
void bias(const float* x, const float* b, float* y, const Activation& shape, cudaStream_t stream);

// y = kept ? x / (1 − p) : 0, where kept depends on (seed[0], step[0], layer, position in N,C,H,W order)
// alone: four neighbouring positions share one Philox counter. x, y: an activation; seed, step: on the
// device.
void dropout(const float* x, const int64_t* seed, const int64_t* step, float* y, const Activation& shape,
             double p, int64_t layer, cudaStream_t stream);

// Conversions, round to nearest even; NaN stays NaN, overflow becomes infinity. 16-bit values as their bits.
void f32_to_f16(const float* x, uint16_t* y, int64_t n, cudaStream_t stream);
void f16_to_f32(const uint16_t* x, float* y, int64_t n, cudaStream_t stream);
void f32_to_bf16(const float* x, uint16_t* y, int64_t n, cudaStream_t stream);
void bf16_to_f32(const uint16_t* x, float* y, int64_t n, cudaStream_t stream);
void f16_to_bf16(const uint16_t* x, uint16_t* y, int64_t n, cudaStream_t stream);
void bf16_to_f16(const uint16_t* x, uint16_t* y, int64_t n, cudaStream_t stream);
void u8_to_f32(const uint8_t* x, float* y, int64_t n, cudaStream_t stream);

}  // namespace lathe::kernels
