// The convolution ladder: y = conv(x, w), then its gradients, each rung in its own file.
//
// Every rung takes any number of channels and groups, any sizes and any alignment of an element, and adds in
// fp32. Beside a rung stands what else it takes; for all other problems it throws Unsupported before it
// launches anything.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/conv2d/shape.h"

namespace lathe::kernels {

// How activations and weights lie in memory, the last index fastest.
//   nchw   x [N,C,H,W]   w [O,C/groups,kernel_h,kernel_w]   y [N,O,OH,OW]
//   nhwc   x [N,H,W,C]   w [O,kernel_h,kernel_w,C/groups]   y [N,OH,OW,O]
enum class ConvLayout { nchw, nhwc };

// y = max(0, conv(x, w) + bias), NaN kept.
template <typename T>
struct Conv2d {
  ConvShape shape;
  ConvLayout layout;
  const T* x;
  const T* w;
  T* y;                        // rung 7 has pooled it: OH/2 × OW/2
  const T* bias = nullptr;     // [O], or null; rungs 6 and 7
  bool relu = false;           // rungs 6 and 7
  float* workspace = nullptr;  // as many bytes as the rung's function below says
};

// dx = Σ dy · ∂y/∂x, with y of a convolution with neither bias nor ReLU. Where a ReLU followed it, what left
// that is `y`: dy counts where y > 0.
template <typename T>
struct Conv2dDgrad {
  ConvShape shape;
  ConvLayout layout;
  const T* dy;  // as y
  const T* w;
  T* dx;                 // as x
  const T* y = nullptr;  // or null: no ReLU
};

// dw = Σ dy · ∂y/∂w and db = Σ dy over samples and pixels, in fp32 for the optimizer. y as above.
template <typename T>
struct Conv2dWgrad {
  ConvShape shape;
  ConvLayout layout;
  const T* x;
  const T* dy;           // as y
  float* dw;             // as w
  float* db = nullptr;   // [O], or null: not wanted
  const T* y = nullptr;  // or null: no ReLU
  float* workspace = nullptr;
};

// clang-format off
void conv2d_direct(const Conv2d<float>& problem, cudaStream_t stream);                 // 01: nchw
void conv2d_im2col_gemm(const Conv2d<float>& problem, cudaStream_t stream);            // 02: nchw
void conv2d_implicit_gemm(const Conv2d<float>& problem, cudaStream_t stream);          // 03: nchw, nhwc
void conv2d_winograd_2x2(const Conv2d<float>& problem, cudaStream_t stream);           // 04: nchw, 3×3, stride 1
void conv2d_winograd_4x4(const Conv2d<float>& problem, cudaStream_t stream);           // 05: nchw, 3×3, stride 1
void conv2d_mma(const Conv2d<__half>& problem, cudaStream_t stream);                   // 06: nhwc
void conv2d_mma(const Conv2d<__nv_bfloat16>& problem, cudaStream_t stream);            // 06
void conv2d_mma_pooled(const Conv2d<__half>& problem, cudaStream_t stream);            // 07: nhwc, OH, OW ≥ 2
void conv2d_mma_pooled(const Conv2d<__nv_bfloat16>& problem, cudaStream_t stream);     // 07
template <typename T>
void conv2d_dgrad(const Conv2dDgrad<T>& problem, cudaStream_t stream);                 // 08: nchw, nhwc
template <typename T>
void conv2d_wgrad(const Conv2dWgrad<T>& problem, cudaStream_t stream);                 // 09: nchw, nhwc

// Bytes of workspace; the other rungs need none.
int64_t conv2d_im2col_gemm_workspace(const ConvShape& shape);
int64_t conv2d_winograd_2x2_workspace(const ConvShape& shape);
int64_t conv2d_winograd_4x4_workspace(const ConvShape& shape);
int64_t conv2d_wgrad_workspace(const ConvShape& shape);
// clang-format on

}  // namespace lathe::kernels
