// The pooling ladder: max pooling and its gradient, in fp32 and fp16.
//
// Every rung takes any layout, any windows of up to 256 elements, any number of channels and any alignment of
// an element.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/pool/pool.h"

namespace lathe::kernels {

// y = the window's maximum, index = its row-major position in the window. The first of equals wins; NaN wins.
template <typename T>
struct MaxPool {
  const T* x;      // [planes, in, in, block]
  T* y;            // [planes, out, out, block]
  uint8_t* index;  // as y
  Pool pool;
};

// dx = Σ dy over the windows whose maximum this element was, added in fp32.
template <typename T>
struct MaxPoolGradient {
  const uint8_t* index;  // [planes, out, out, block]
  const T* dy;           // as index
  T* dx;                 // [planes, in, in, block]
  Pool pool;
};

// A later candidate replaces the best if it is greater or the first NaN: `not (v ≤ best)` is true for both.
__host__ __device__ inline bool replaces(float candidate, float best) {
  return !(candidate <= best) && best == best;
}

template <typename T>
void max_pool_direct(const MaxPool<T>& problem, cudaStream_t stream);  // 01
template <typename T>
void max_pool_direct(const MaxPoolGradient<T>& problem, cudaStream_t stream);  // 01
template <typename T>
void max_pool_vectorised(const MaxPool<T>& problem, cudaStream_t stream);  // 02
template <typename T>
void max_pool_vectorised(const MaxPoolGradient<T>& problem, cudaStream_t stream);  // 02

// The instances, at the end of each rung's file.
#define LATHE_MAX_POOL_INSTANCES(rung)                             \
  template void rung(const MaxPool<float>&, cudaStream_t);         \
  template void rung(const MaxPool<__half>&, cudaStream_t);        \
  template void rung(const MaxPoolGradient<float>&, cudaStream_t); \
  template void rung(const MaxPoolGradient<__half>&, cudaStream_t)

}  // namespace lathe::kernels
