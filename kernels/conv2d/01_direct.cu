// Convolution, rung 1: one thread for each output.  y = conv(x, w), NCHW, fp32.
//
// Idea.        The definition, written down: a thread walks over the window of its output, channel by
//              channel, and multiplies what lies in the picture with its filter.
// Bytes.       Asked for: 8 a multiply-add. The lanes of a warp are neighbours in a row of y: they share the
//              weight and read neighbouring pixels, so that 5 to 6 sectors of 32 bytes move for 32
//              multiply-adds. Every pixel is fetched again for each tap and each output channel.
// Operations.  2·C/groups·kernel_h·kernel_w an output.
// Bound.       The caches: two loads for each multiply-add.
#include "hostcuda/portable/launch.h"
#include "kernels/conv2d/requirements.h"

namespace lathe::kernels {
namespace {

__global__ void conv2d_01_direct(const float* __restrict__ x,  // [N,C,H,W]
                                 const float* __restrict__ w,  // [O,C/groups,kernel_h,kernel_w]
                                 float* __restrict__ y,        // [N,O,OH,OW]
                                 ConvShape s LATHE_FLAT) {
  const int64_t index = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= s.N * s.O * s.OH * s.OW) return;
  const int64_t q = index % s.OW, p = index / s.OW % s.OH;
  const int64_t o = index / (s.OW * s.OH) % s.O, n = index / (s.OW * s.OH * s.O);
  const int64_t first_channel = o / s.group_outputs() * s.group_inputs();
  const float* weight = w + o * s.filter_size();

  float sum = 0;
  for (int64_t c = 0; c < s.group_inputs(); ++c) {
    const float* picture = x + (n * s.C + first_channel + c) * s.H * s.W;  // [H,W]
    for (int64_t i = 0; i < s.kernel_h; ++i) {
      const int64_t h = p * s.stride_h - s.padding_h + i * s.dilation_h;
      for (int64_t j = 0; j < s.kernel_w; ++j, ++weight) {
        const int64_t v = q * s.stride_w - s.padding_w + j * s.dilation_w;
        if (h >= 0 && h < s.H && v >= 0 && v < s.W) sum += picture[h * s.W + v] * *weight;
      }
    }
  }
  y[index] = sum;
}

}  // namespace

void conv2d_direct(const Conv2d<float>& p, cudaStream_t stream) {
  require(p.layout == ConvLayout::nchw, "conv2d_direct", p, "nchw");
  const ConvShape& s = p.shape;
  constexpr int kThreads = 256;
  launch_flat<conv2d_01_direct>(blocks_for(s.N * s.O * s.OH * s.OW, kThreads), kThreads, stream, p.x, p.w,
                                p.y, s);
}

}  // namespace lathe::kernels
