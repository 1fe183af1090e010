// Convolution, rung 3: GEMM over windows that are never stored.  y = conv(x, w), NHWC or NCHW, fp32.
//
// Idea.        Rung 2 without its columns: an element of their matrix is fetched from x when a tile of it is
//              loaded. In NHWC the channels of a pixel lie side by side, and with weights in the order
//              [O,kernel_h,kernel_w,C] neighbouring threads load neighbouring addresses of both.
// Bytes.       4·C·kernel_h·kernel_w·(1/64 + 1/64) an output from the caches, with tiles of 64×64; from
//              memory x, w and y little more than once each.
// Operations.  2·C/groups·kernel_h·kernel_w an output, and some integer arithmetic for every element that is
//              loaded, of which each serves 64 multiply-adds.
// Bound.       Latency: nothing is loaded while a block multiplies. Few channels in a group use few rows of a
//              tile: a depthwise convolution one in 64.
#include "kernels/conv2d/implicit_gemm.cuh"

namespace lathe::kernels {
namespace {

// w as the matrix [o, k] of its group, k running over channels and taps as they lie in memory.
struct Filters {
  static constexpr bool k_is_contiguous = true;
  ConvShape s;
  const float* w;  // [O, filter_size]

  struct Outer {
    const float* row;  // null outside
  };
  using Inner = int64_t;
  __device__ Outer outer(int64_t group, int64_t o) const {
    return {o < s.group_outputs() ? w + (group * s.group_outputs() + o) * s.filter_size() : nullptr};
  }
  __device__ Inner inner(int64_t k) const { return k; }
  __device__ float load(const Outer& filter, Inner k) const {
    return filter.row && k < s.filter_size() ? filter.row[k] : 0;
  }
};

// x as the matrix [k, pixel of the output].
template <ConvLayout layout>
struct Windows {
  static constexpr bool k_is_contiguous = layout == ConvLayout::nhwc;
  ConvShape s;
  const float* x;  // [N,C,H,W] or [N,H,W,C]

  struct Outer {
    int64_t group;
    Pixel pixel;
  };
  using Inner = Tap;
  __device__ Outer outer(int64_t group, int64_t n) const { return {group, pixel_at(s, n, s.OH, s.OW)}; }
  __device__ Inner inner(int64_t k) const { return tap_at<layout>(s, k, s.group_inputs()); }
  __device__ float load(const Outer& at, const Tap& tap) const {
    return input_at<layout>(s, x, at.group, at.pixel, tap);
  }
};

template <ConvLayout layout>
void run(const Conv2d<float>& p, cudaStream_t stream) {
  const ConvShape& s = p.shape;
  const Activations<layout, float> y{p.y, s.N, s.groups, s.group_outputs(), s.OH * s.OW};
  launch_implicit_gemm(Filters{s, p.w}, Windows<layout>{s, p.x}, y, s.filter_size(), stream);
}

}  // namespace

void conv2d_implicit_gemm(const Conv2d<float>& p, cudaStream_t stream) {
  p.layout == ConvLayout::nchw ? run<ConvLayout::nchw>(p, stream) : run<ConvLayout::nhwc>(p, stream);
}

}  // namespace lathe::kernels
