// Convolution as an implicit GEMM, fp32, NCHW: the im2col matrix is never stored, its elements are fetched
// from x (or dy) when a tile is loaded. One product for each group g of channels (pixel = sample, row and
// column):
//   fprop  y [o, pixel]    = Σ_{c,i,j}  w[o, c,i,j]  · x [c,i,j at pixel]
//   dgrad  dx[c, pixel]    = Σ_{o,i,j}  w[o, c,i,j]  · dy[o where tap i,j of its window is this pixel]
//   wgrad  dw[o, (c,i,j)]  = Σ_pixel    dy[o, pixel] · x [c,i,j at pixel]
// The tiles, their traffic and bound are told in kernels/gemm/tiled_product.cuh.
//
// Operations.  2·N·O·OH·OW·(C/groups)·kH·kW in each direction; some integer arithmetic for every element
//              that is loaded, of which each serves 64 multiply-adds.
// Weak spots.  Few channels in a group (a depthwise convolution uses one row in 64 of a tile), and wgrad with
//              few weights (its long sum over pixels is not split).
#include "kernels/conv2d/conv2d.h"

#include "kernels/gemm/tiled_product.cuh"

namespace lathe::kernels {
namespace {

// Spatial coordinates fit 32 bits, even of the padded input (conv2d's shape rule); products of extents do
// not.
struct Tap {
  int64_t channel;  // in its group
  int row, column;  // offset from the window's first element, dilation included
  bool inside;
};

__device__ inline Tap tap_at(const ConvShape& s, int64_t index, int64_t channels) {
  const int64_t taps = s.kernel_h * s.kernel_w;
  const int tap = static_cast<int>(index % taps), width = static_cast<int>(s.kernel_w);
  return {index / taps, tap / width * static_cast<int>(s.dilation_h),
          tap % width * static_cast<int>(s.dilation_w), index < channels * taps};
}

struct Pixel {
  int64_t sample;
  int row, column;
  bool inside;
};

__device__ inline Pixel pixel_at(const ConvShape& s, int64_t index, int64_t height, int64_t width) {
  const int64_t row = index / width;
  return {row / height, static_cast<int>(row % height), static_cast<int>(index % width),
          index < s.N * height * width};
}

// x under tap (c,i,j) of the window of output pixel (n,p,q), 0 in the padding.
__device__ inline float input_at(const ConvShape& s, const float* x, int64_t group, const Pixel& pixel,
                                 const Tap& tap) {
  const int64_t h = pixel.row * s.stride_h - s.padding_h + tap.row;
  const int64_t w = pixel.column * s.stride_w - s.padding_w + tap.column;
  if (!pixel.inside || !tap.inside || h < 0 || h >= s.H || w < 0 || w >= s.W) return 0;
  return x[((pixel.sample * s.C + group * s.group_inputs() + tap.channel) * s.H + h) * s.W + w];
}

// fprop's A: w as the matrix [o, (c,i,j)] of its group.
struct Filters {
  static constexpr bool k_is_contiguous = true;
  ConvShape s;
  const float* w;  // [O, C/groups, kH, kW]

  struct Outer {
    const float* row;  // null outside
  };
  using Inner = int64_t;
  __device__ int64_t filter_size() const { return s.group_inputs() * s.kernel_h * s.kernel_w; }
  __device__ Outer outer(int64_t group, int64_t o) const {
    return {o < s.group_outputs() ? w + (group * s.group_outputs() + o) * filter_size() : nullptr};
  }
  __device__ Inner inner(int64_t k) const { return k; }
  __device__ float load(const Outer& filter, Inner k) const {
    return filter.row && k < filter_size() ? filter.row[k] : 0;
  }
};

// fprop's B: x as the matrix [(c,i,j), pixel] (im2col).
struct Windows {
  static constexpr bool k_is_contiguous = false;
  ConvShape s;
  const float* x;  // [N,C,H,W]

  struct Outer {
    int64_t group;
    Pixel pixel;
  };
  using Inner = Tap;
  __device__ Outer outer(int64_t group, int64_t n) const { return {group, pixel_at(s, n, s.OH, s.OW)}; }
  __device__ Inner inner(int64_t k) const { return tap_at(s, k, s.group_inputs()); }
  __device__ float load(const Outer& at, const Tap& tap) const {
    return input_at(s, x, at.group, at.pixel, tap);
  }
};

// dgrad's A: w as the matrix [c, (o,i,j)].
struct TransposedFilters {
  static constexpr bool k_is_contiguous = true;
  ConvShape s;
  const float* w;  // [O, C/groups, kH, kW]

  struct Outer {
    const float* first;  // w[g·O/groups, c, 0, 0], null outside
  };
  struct Inner {
    int64_t offset;  // from there; negative outside
  };
  __device__ Outer outer(int64_t group, int64_t c) const {
    const int64_t taps = s.kernel_h * s.kernel_w;
    return {c < s.group_inputs() ? w + (group * s.group_outputs() * s.group_inputs() + c) * taps : nullptr};
  }
  __device__ Inner inner(int64_t k) const {
    const int64_t taps = s.kernel_h * s.kernel_w, o = k / taps;
    return {o < s.group_outputs() ? o * s.group_inputs() * taps + k % taps : -1};
  }
  __device__ float load(const Outer& channel, const Inner& at) const {
    return channel.first && at.offset >= 0 ? channel.first[at.offset] : 0;
  }
};

// dgrad's B: the matrix [(o,i,j), input pixel] of the dy whose window meets that pixel with tap (i,j).
struct OutputsOverPixel {
  static constexpr bool k_is_contiguous = false;
  ConvShape s;
  const float* dy;  // [N,O,OH,OW]

  struct Outer {
    int64_t group;
    Pixel pixel;
  };
  using Inner = Tap;
  __device__ Outer outer(int64_t group, int64_t n) const { return {group, pixel_at(s, n, s.H, s.W)}; }
  __device__ Inner inner(int64_t k) const { return tap_at(s, k, s.group_outputs()); }
  __device__ float load(const Outer& at, const Tap& tap) const {
    const int row = at.pixel.row + static_cast<int>(s.padding_h) - tap.row;  // p·stride, if it is a multiple
    const int column = at.pixel.column + static_cast<int>(s.padding_w) - tap.column;
    const int stride_h = static_cast<int>(s.stride_h), stride_w = static_cast<int>(s.stride_w);
    const int p = row / stride_h, q = column / stride_w;
    if (!at.pixel.inside || !tap.inside || row < 0 || column < 0 || p * stride_h != row ||
        q * stride_w != column || p >= s.OH || q >= s.OW) {
      return 0;
    }
    return dy[((at.pixel.sample * s.O + at.group * s.group_outputs() + tap.channel) * s.OH + p) * s.OW + q];
  }
};

// wgrad's A: dy as the matrix [o, pixel].
struct OutputGradients {
  static constexpr bool k_is_contiguous = true;
  ConvShape s;
  const float* dy;  // [N,O,OH,OW]

  using Outer = int64_t;  // offset of channel o in a sample, negative outside
  using Inner = int64_t;  // offset of a pixel in channel 0, negative outside
  __device__ Outer outer(int64_t group, int64_t o) const {
    return o < s.group_outputs() ? (group * s.group_outputs() + o) * s.OH * s.OW : -1;
  }
  __device__ Inner inner(int64_t k) const {
    const int64_t image = s.OH * s.OW, sample = k / image;
    return sample < s.N ? sample * s.O * image + k % image : -1;
  }
  __device__ float load(Outer channel, Inner pixel) const {
    return channel >= 0 && pixel >= 0 ? dy[channel + pixel] : 0;
  }
};

// wgrad's B: x as the matrix [pixel, (c,i,j)], the transpose of Windows.
struct TransposedWindows {
  static constexpr bool k_is_contiguous = true;
  ConvShape s;
  const float* x;  // [N,C,H,W]

  struct Outer {
    int64_t group;
    Tap tap;
  };
  using Inner = Pixel;
  __device__ Outer outer(int64_t group, int64_t n) const { return {group, tap_at(s, n, s.group_inputs())}; }
  __device__ Inner inner(int64_t k) const { return pixel_at(s, k, s.OH, s.OW); }
  __device__ float load(const Outer& at, const Pixel& pixel) const {
    return input_at(s, x, at.group, pixel, at.tap);
  }
};

// y or dx: the matrix [channel of the group, pixel].
struct Activations {
  float* data;  // [samples, groups·channels, image]
  int64_t samples, groups, channels, image;
  __device__ void store(int64_t group, int64_t m, int64_t n, float value) const {
    if (m >= channels || n >= samples * image) return;
    data[(n / image * groups * channels + group * channels + m) * image + n % image] = value;
  }
};

// dw: the matrix [o, (c,i,j)].
struct WeightGradients {
  float* data;  // [groups·outputs, columns]
  int64_t outputs, columns;
  __device__ void store(int64_t group, int64_t m, int64_t n, float value) const {
    if (m < outputs && n < columns) data[(group * outputs + m) * columns + n] = value;
  }
};

}  // namespace

void conv2d_fprop(const float* x, const float* w, float* y, const ConvShape& s, cudaStream_t stream) {
  launch_tiled_product(
      Filters{s, w}, Windows{s, x}, Activations{y, s.N, s.groups, s.group_outputs(), s.OH * s.OW}, s.groups,
      s.group_outputs(), s.N * s.OH * s.OW, s.group_inputs() * s.kernel_h * s.kernel_w, stream);
}

void conv2d_dgrad(const float* dy, const float* w, float* dx, const ConvShape& s, cudaStream_t stream) {
  launch_tiled_product(TransposedFilters{s, w}, OutputsOverPixel{s, dy},
                       Activations{dx, s.N, s.groups, s.group_inputs(), s.H * s.W}, s.groups,
                       s.group_inputs(), s.N * s.H * s.W, s.group_outputs() * s.kernel_h * s.kernel_w,
                       stream);
}

void conv2d_wgrad(const float* x, const float* dy, float* dw, const ConvShape& s, cudaStream_t stream) {
  const int64_t columns = s.group_inputs() * s.kernel_h * s.kernel_w;
  launch_tiled_product(OutputGradients{s, dy}, TransposedWindows{s, x},
                       WeightGradients{dw, s.group_outputs(), columns}, s.groups, s.group_outputs(), columns,
                       s.N * s.OH * s.OW, stream);
}

}  // namespace lathe::kernels
