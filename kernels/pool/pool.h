// Windows over the spatial axes of N,C,H,W tensors in any layout, and average pooling (ladder.h has max
// pooling).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lathe::kernels {

// The windows along one axis: output o sees inputs [begin(o), end(o)); input i is seen by outputs [first(i),
// last(i)].
struct PoolAxis {
  int64_t in, out;
  int64_t window, stride, padding;  // window 0: adaptive, o sees [floor(o·in/out), ceil((o+1)·in/out))

  __host__ __device__ int64_t begin(int64_t o) const {
    if (window == 0) return o * in / out;
    int64_t start = o * stride - padding;
    return start > 0 ? start : 0;
  }
  __host__ __device__ int64_t end(int64_t o) const {
    if (window == 0) return ((o + 1) * in + out - 1) / out;
    int64_t stop = o * stride - padding + window;
    return stop < in ? stop : in;
  }
  // Length of o's window with the padding (but not what ceil mode hangs over it), as PyTorch counts it.
  __host__ __device__ int64_t padded_length(int64_t o) const {
    int64_t start = o * stride - padding, stop = start + window;
    return (stop < in + padding ? stop : in + padding) - start;
  }
  __host__ __device__ int64_t first(int64_t i) const {
    if (window == 0) return i * out / in;
    int64_t low = i + padding - window;
    return low < 0 ? 0 : low / stride + 1;
  }
  __host__ __device__ int64_t last(int64_t i) const {
    int64_t high = window == 0 ? ((i + 1) * out + in - 1) / in - 1 : (i + padding) / stride;
    return high < out - 1 ? high : out - 1;
  }
};

// planes = samples · channel_blocks of an activation [planes, height.in, width.in, block] → [planes, out,
// out, block].
struct Pool {
  int64_t planes, block;
  PoolAxis height, width;
};

// y = the window's sum over its size: that inside the input, or with count_padding the padded one.
void average_pool(const float* x, float* y, const Pool& pool, bool count_padding, cudaStream_t stream);
void average_pool_gradient(const float* dy, float* dx, const Pool& pool, bool count_padding,
                           cudaStream_t stream);

}  // namespace lathe::kernels
