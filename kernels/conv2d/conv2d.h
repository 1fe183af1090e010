// 2-D convolution (cross-correlation, as in every deep-learning framework) on row-major NCHW tensors.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lathe::kernels {

// The extents of one convolution: x [N,C,H,W], w [O,C/groups,kernel_h,kernel_w], y [N,O,OH,OW].
// Output row p reads input rows p·stride_h − padding_h + k·dilation_h for k in [0, kernel_h).
struct ConvShape {
  int64_t N, C, H, W;
  int64_t O, OH, OW;
  int64_t kernel_h, kernel_w;
  int64_t stride_h, stride_w;
  int64_t padding_h, padding_w;
  int64_t dilation_h, dilation_w;
  int64_t groups;
  __host__ __device__ int64_t group_inputs() const {
    return C / groups;
  }  // input channels that one filter sees
  __host__ __device__ int64_t group_outputs() const { return O / groups; }
};

// y = conv(x, w).
void conv2d_fprop(const float* x, const float* w, float* y, const ConvShape& shape, cudaStream_t stream);
// dx = d(Σ dy·y)/dx.
void conv2d_dgrad(const float* dy, const float* w, float* dx, const ConvShape& shape, cudaStream_t stream);
// dw = d(Σ dy·y)/dw.
void conv2d_wgrad(const float* x, const float* dy, float* dw, const ConvShape& shape, cudaStream_t stream);

}  // namespace lathe::kernels
