// What the implicit GEMMs in fp32 arithmetic share: where the elements of their matrices lie in the tensors.
// The product itself is kernels/conv2d/tiled_product.cuh.
#pragma once

#include "kernels/conv2d/ladder.h"
#include "kernels/conv2d/tiled_product.cuh"

namespace lathe::kernels {

// Spatial coordinates fit 32 bits, even of the padded input; products of extents do not.
struct Tap {
  int64_t channel;  // in its group
  int row, column;  // offset from the window's first element, dilation included
  bool inside;
};

// An index that runs over channels and taps, in the order in which the weights of a filter lie in memory.
template <ConvLayout layout, typename Index>
__device__ inline Tap tap_at(const ConvShape& s, Index index, Index channels) {
  const Index taps = static_cast<Index>(s.taps());
  const int tap = static_cast<int>(layout == ConvLayout::nchw ? index % taps : index / channels);
  const int width = static_cast<int>(s.kernel_w);
  return {layout == ConvLayout::nchw ? index / taps : index % channels,
          tap / width * static_cast<int>(s.dilation_h), tap % width * static_cast<int>(s.dilation_w),
          index < channels * taps};
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

// Where element (n,c,h,w) of an activation lies.
template <ConvLayout layout>
__device__ inline int64_t offset(int64_t channels, int64_t height, int64_t width, int64_t n, int64_t c,
                                 int64_t h, int64_t w) {
  return layout == ConvLayout::nchw ? ((n * channels + c) * height + h) * width + w
                                    : ((n * height + h) * width + w) * channels + c;
}

// x under a tap of the window of an output pixel, 0 in the padding.
template <ConvLayout layout, typename T>
__device__ inline float input_at(const ConvShape& s, const T* x, int64_t group, const Pixel& pixel,
                                 const Tap& tap) {
  const int64_t h = pixel.row * s.stride_h - s.padding_h + tap.row;
  const int64_t w = pixel.column * s.stride_w - s.padding_w + tap.column;
  if (!pixel.inside || !tap.inside || h < 0 || h >= s.H || w < 0 || w >= s.W) return 0;
  return static_cast<float>(
      x[offset<layout>(s.C, s.H, s.W, pixel.sample, group * s.group_inputs() + tap.channel, h, w)]);
}

// dy at `at`, 0 where the ReLU behind the convolution was: y is what left it, or null without one.
template <typename T>
__device__ inline float gradient_at(const T* dy, const T* y, int64_t at) {
  return y == nullptr || static_cast<float>(y[at]) > 0 ? static_cast<float>(dy[at]) : 0;
}

// y or dx as the matrix [channel of the group, pixel] where nchw, [pixel, channel of the group] where nhwc:
// neighbouring columns are neighbours in memory.
template <ConvLayout layout, typename T>
struct Activations {
  T* data;
  int64_t samples, groups, channels, image;  // channels of a group; pixels of a sample
  __device__ void store(int64_t group, int64_t m, int64_t n, float value) const {
    const int64_t channel = layout == ConvLayout::nchw ? m : n, pixel = layout == ConvLayout::nchw ? n : m;
    if (channel >= channels || pixel >= samples * image) return;
    data[offset<layout>(groups * channels, 1, image, pixel / image, group * channels + channel, 0,
                        pixel % image)] = T(value);
  }
};

// The product of filters [channel, k] and windows [k, pixel], the other way round where nhwc.
template <ConvLayout layout, typename T, typename Filters, typename Windows>
void launch_implicit_gemm(const Filters& filters, const Windows& windows,
                          const Activations<layout, T>& result, int64_t K, cudaStream_t stream) {
  const int64_t pixels = result.samples * result.image;
  if constexpr (layout == ConvLayout::nchw) {
    launch_tiled_product(filters, windows, result, result.groups, result.channels, pixels, K, stream);
  } else {
    launch_tiled_product(windows, filters, result, result.groups, pixels, result.channels, K, stream);
  }
}

}  // namespace lathe::kernels
