// Convolution, rung 2: a matrix of windows, then GEMM.  y = conv(x, w), NCHW, fp32.
//
// Idea.        With all windows of a picture side by side as the columns of a matrix, convolution is the
//              product w [O, C·kernel_h·kernel_w] · columns [C·kernel_h·kernel_w, OH·OW]: what makes GEMM
//              fast (its rung 8) now makes convolution fast.
// Bytes.       The columns hold every pixel kernel_h·kernel_w times: they are written once and read by each
//              row of tiles, 4·C·kernel_h·kernel_w·(1 + O/128) an output pixel, besides GEMM's own traffic
//              of w.
// Operations.  2·C/groups·kernel_h·kernel_w an output.
// Bound.       Arithmetic where O is large; memory for the few channels of a first layer. The workspace is as
//              large as the columns of one picture, so that small pictures leave most of a GPU idle.
#include "hostcuda/portable/launch.h"
#include "kernels/conv2d/requirements.h"
#include "kernels/gemm/ladder.h"

namespace lathe::kernels {
namespace {

__global__ void conv2d_02_im2col(const float* __restrict__ x,  // [C,H,W]: one sample
                                 float* __restrict__ columns,  // [C,kernel_h,kernel_w, OH,OW]
                                 ConvShape s LATHE_FLAT) {
  const int64_t index = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= s.C * s.taps() * s.OH * s.OW) return;
  const int64_t q = index % s.OW, p = index / s.OW % s.OH, row = index / (s.OW * s.OH);
  const int64_t j = row % s.kernel_w, i = row / s.kernel_w % s.kernel_h, c = row / s.taps();
  const int64_t h = p * s.stride_h - s.padding_h + i * s.dilation_h;
  const int64_t v = q * s.stride_w - s.padding_w + j * s.dilation_w;
  columns[index] = h >= 0 && h < s.H && v >= 0 && v < s.W ? x[(c * s.H + h) * s.W + v] : 0;
}

}  // namespace

int64_t conv2d_im2col_gemm_workspace(const ConvShape& s) {
  return s.C * s.taps() * s.OH * s.OW * int64_t{sizeof(float)};
}

void conv2d_im2col_gemm(const Conv2d<float>& p, cudaStream_t stream) {
  require(p.layout == ConvLayout::nchw, "conv2d_im2col_gemm", p, "nchw");
  const ConvShape& s = p.shape;
  constexpr int kThreads = 256;
  const int64_t pixels = s.OH * s.OW, columns = s.C * s.taps() * pixels;
  for (int64_t n = 0; n < s.N; ++n) {
    launch_flat<conv2d_02_im2col>(blocks_for(columns, kThreads), kThreads, stream, p.x + n * s.C * s.H * s.W,
                                  p.workspace, s);
    for (int64_t group = 0; group < s.groups; ++group) {
      gemm_double_buffered({.A = p.w + group * s.group_outputs() * s.filter_size(),
                            .lda = s.filter_size(),
                            .B = p.workspace + group * s.filter_size() * pixels,
                            .ldb = pixels,
                            .C = p.y + (n * s.O + group * s.group_outputs()) * pixels,
                            .ldc = pixels,
                            .M = s.group_outputs(),
                            .N = pixels,
                            .K = s.filter_size()},
                           stream);
    }
  }
}

}  // namespace lathe::kernels
