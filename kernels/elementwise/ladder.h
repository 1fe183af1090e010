// The elementwise ladder: bias + ReLU, dropout and addition, in fp32, fp16 and bf16; computed in fp32 and
// rounded once.
//
// Every rung takes any number of elements and any alignment of an element. y may be an input. The rungs give
// the same bits.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace lathe::kernels {

// y = max(x + bias[channel], 0), NaN kept.
template <typename T>
struct BiasRelu {
  const T* x;     // [n / (channels·inner), channels, inner]: inner is H·W in NCHW, 1 in NHWC and in [N, C]
  const T* bias;  // [channels]
  T* y;           // as x
  int64_t n, channels, inner;
};

// y = kept ? x / (1 − p) : 0, where kept depends on (seed, step, layer, i) alone: word i % 4 of Philox
// counter i / 4 (random/philox.h).
template <typename T>
struct Dropout {
  const T* x;           // [n]
  const int64_t* seed;  // one number on the device, as step
  const int64_t* step;
  T* y;  // [n]
  int64_t n;
  double p;  // in [0, 1)
  int64_t layer;
};

// y = a + b.
template <typename T>
struct Add {
  const T* a;  // [n]
  const T* b;  // [n]
  T* y;        // [n]
  int64_t n;
};

// Problem: each of the three, of float, __half or __nv_bfloat16.
template <typename Problem>
void elementwise_scalar(const Problem& problem, cudaStream_t stream);  // 01
template <typename Problem>
void elementwise_vectorised(const Problem& problem, cudaStream_t stream);  // 02

// The instances, at the end of each rung's file.
#define LATHE_ELEMENTWISE_INSTANCES(rung)                           \
  template void rung(const BiasRelu<float>&, cudaStream_t);         \
  template void rung(const BiasRelu<__half>&, cudaStream_t);        \
  template void rung(const BiasRelu<__nv_bfloat16>&, cudaStream_t); \
  template void rung(const Dropout<float>&, cudaStream_t);          \
  template void rung(const Dropout<__half>&, cudaStream_t);         \
  template void rung(const Dropout<__nv_bfloat16>&, cudaStream_t);  \
  template void rung(const Add<float>&, cudaStream_t);              \
  template void rung(const Add<__half>&, cudaStream_t);             \
  template void rung(const Add<__nv_bfloat16>&, cudaStream_t)

}  // namespace lathe::kernels
