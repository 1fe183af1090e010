// Convolution, rung 8: the gradient of the input.  dx = Σ dy · ∂y/∂x, NHWC or NCHW; fp32, fp16 or bf16, added
// in fp32.
//
// Idea.        Rung 3 seen from the other side: an input pixel was under every tap of some window, or of none
//              where a stride stepped over it. Its gradient is a product again, of the filters transposed
//              and of the dy found there; a ReLU behind the convolution is undone where dy is fetched.
// Bytes.       4·O·kernel_h·kernel_w·(1/64 + 1/64) an element of dx from the caches, half of that in 16 bit,
//              and as many for y as for dy where there was a ReLU.
// Operations.  2·O/groups·kernel_h·kernel_w an element of dx; with a stride, all but one of stride² are
//              multiplications by 0.
// Bound.       As rung 3. A kernel for each remainder by the stride would spare the zeros.
#include "kernels/conv2d/implicit_gemm.cuh"

namespace lathe::kernels {
namespace {

// w as the matrix [c, k] of its group, k running over output channels and taps.
template <ConvLayout layout, typename T>
struct TransposedFilters {
  static constexpr bool k_is_contiguous = layout == ConvLayout::nchw;
  ConvShape s;
  const T* w;  // [O,C/groups,kernel_h,kernel_w] or [O,kernel_h,kernel_w,C/groups]

  struct Outer {
    const T* first;  // tap 0 of channel c in the group's first filter, null outside
  };
  struct Inner {
    int64_t offset;  // from there; negative outside
  };
  __device__ Outer outer(int64_t group, int64_t c) const {
    const int64_t step = layout == ConvLayout::nchw ? s.taps() : 1;
    return {c < s.group_inputs() ? w + group * s.group_outputs() * s.filter_size() + c * step : nullptr};
  }
  __device__ Inner inner(int64_t k) const {
    if (k >= s.group_outputs() * s.taps()) return {-1};
    return {layout == ConvLayout::nchw
                ? k / s.taps() * s.filter_size() + k % s.taps()
                : k % s.group_outputs() * s.filter_size() + k / s.group_outputs() * s.group_inputs()};
  }
  __device__ float load(const Outer& channel, const Inner& at) const {
    return channel.first && at.offset >= 0 ? static_cast<float>(channel.first[at.offset]) : 0;
  }
};

// The matrix [k, pixel of the input] of the dy whose window meets that pixel with that tap.
template <ConvLayout layout, typename T>
struct OutputsOverPixel {
  static constexpr bool k_is_contiguous = layout == ConvLayout::nhwc;
  ConvShape s;
  const T* dy;  // [N,O,OH,OW] or [N,OH,OW,O]
  const T* y;   // as dy, or null

  struct Outer {
    int64_t group;
    Pixel pixel;
  };
  using Inner = Tap;
  __device__ Outer outer(int64_t group, int64_t n) const { return {group, pixel_at(s, n, s.H, s.W)}; }
  __device__ Inner inner(int64_t k) const { return tap_at<layout>(s, k, s.group_outputs()); }
  __device__ float load(const Outer& at, const Tap& tap) const {
    const int row = at.pixel.row + static_cast<int>(s.padding_h) - tap.row;  // p·stride, if it is a multiple
    const int column = at.pixel.column + static_cast<int>(s.padding_w) - tap.column;
    const int stride_h = static_cast<int>(s.stride_h), stride_w = static_cast<int>(s.stride_w);
    const int p = row / stride_h, q = column / stride_w;
    if (!at.pixel.inside || !tap.inside || row < 0 || column < 0 || p * stride_h != row ||
        q * stride_w != column || p >= s.OH || q >= s.OW) {
      return 0;
    }
    const int64_t channel = at.group * s.group_outputs() + tap.channel;
    return gradient_at(dy, y, offset<layout>(s.O, s.OH, s.OW, at.pixel.sample, channel, p, q));
  }
};

template <ConvLayout layout, typename T>
void run(const Conv2dDgrad<T>& p, cudaStream_t stream) {
  const ConvShape& s = p.shape;
  const Activations<layout, T> dx{p.dx, s.N, s.groups, s.group_inputs(), s.H * s.W};
  launch_implicit_gemm(TransposedFilters<layout, T>{s, p.w}, OutputsOverPixel<layout, T>{s, p.dy, p.y}, dx,
                       s.group_outputs() * s.taps(), stream);
}

}  // namespace

template <typename T>
void conv2d_dgrad(const Conv2dDgrad<T>& p, cudaStream_t stream) {
  p.layout == ConvLayout::nchw ? run<ConvLayout::nchw>(p, stream) : run<ConvLayout::nhwc>(p, stream);
}
template void conv2d_dgrad(const Conv2dDgrad<float>&, cudaStream_t);
template void conv2d_dgrad(const Conv2dDgrad<__half>&, cudaStream_t);
template void conv2d_dgrad(const Conv2dDgrad<__nv_bfloat16>&, cudaStream_t);

}  // namespace lathe::kernels
