// The extents of a 2-D convolution (cross-correlation, as in every deep-learning framework).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lathe::kernels {

// x [N,C,H,W], w [O,C/groups,kernel_h,kernel_w], y [N,O,OH,OW], whatever their layout.
// Output row p reads input rows p·stride_h − padding_h + k·dilation_h for k in [0, kernel_h).
struct ConvShape {
  int64_t N, C, H, W;
  int64_t O, OH, OW;
  int64_t kernel_h, kernel_w;
  int64_t stride_h, stride_w;
  int64_t padding_h, padding_w;
  int64_t dilation_h, dilation_w;
  int64_t groups;
  __host__ __device__ int64_t group_inputs() const { return C / groups; }  // channels that a filter sees
  __host__ __device__ int64_t group_outputs() const { return O / groups; }
  __host__ __device__ int64_t taps() const { return kernel_h * kernel_w; }
  __host__ __device__ int64_t filter_size() const { return group_inputs() * taps(); }
};

}  // namespace lathe::kernels
