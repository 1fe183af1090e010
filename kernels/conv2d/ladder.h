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

// y = max(0, conv(x, w) + bias).
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

// clang-format off
void conv2d_direct(const Conv2d<float>& problem, cudaStream_t stream);                 // 01: nchw
void conv2d_im2col_gemm(const Conv2d<float>& problem, cudaStream_t stream);            // 02: nchw
int64_t conv2d_im2col_gemm_workspace(const ConvShape& shape);
// clang-format on

}  // namespace lathe::kernels
