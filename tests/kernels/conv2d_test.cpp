// What the convolution rungs promise beyond their trials: they refuse in one line before launching, and the
// sums of wgrad do not depend on the number of threads.
#include <gtest/gtest.h>

#include <vector>

#include "hostcuda/hostcuda.h"
#include "kernels/conv2d/ladder.h"
#include "kernels/study/study.h"
#include "kernels/unsupported.h"

namespace lathe::kernels {
namespace {

ConvShape shape(int64_t channels, int64_t outputs, int64_t kernel = 3) {
  return {.N = 3,
          .C = channels,
          .H = 20,
          .W = 20,
          .O = outputs,
          .OH = 23 - kernel,
          .OW = 23 - kernel,
          .kernel_h = kernel,
          .kernel_w = kernel,
          .stride_h = 1,
          .stride_w = 1,
          .padding_h = 1,
          .padding_w = 1,
          .dilation_h = 1,
          .dilation_w = 1,
          .groups = 1};
}

template <typename T>
std::string refusal(void (*rung)(const Conv2d<T>&, cudaStream_t), const ConvShape& s, ConvLayout layout) {
  try {
    rung({s, layout, nullptr, nullptr, nullptr}, nullptr);
  } catch (const Unsupported& e) {
    return e.what();
  }
  return "";
}

TEST(Conv2dLadder, RefusesInOneLineBeforeLaunching) {
  EXPECT_EQ(
      refusal(conv2d_direct, shape(3, 4), ConvLayout::nhwc),
      "conv2d_direct: N=3 C=3 H=20 W=20 O=4, kernel 3x3, stride 1x1, padding 1x1, dilation 1x1, groups 1, "
      "nhwc is not supported: takes nchw");
  EXPECT_NE(refusal(conv2d_im2col_gemm, shape(3, 4), ConvLayout::nhwc), "");
  EXPECT_NE(refusal<__half>(conv2d_mma, shape(3, 4), ConvLayout::nchw), "");
  EXPECT_NE(refusal<__nv_bfloat16>(conv2d_mma_pooled, shape(3, 4), ConvLayout::nchw), "");
  EXPECT_EQ(refusal<__half>(conv2d_mma_pooled, shape(3, 4, 22), ConvLayout::nhwc),
            "conv2d_mma_pooled: N=3 C=3 H=20 W=20 O=4, kernel 22x22, stride 1x1, padding 1x1, dilation 1x1, "
            "groups 1, nhwc is not supported: takes nhwc with OH and OW of 2 and more");
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

}  // namespace
}  // namespace lathe::kernels
