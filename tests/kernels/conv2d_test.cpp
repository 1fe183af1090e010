// The convolution kernels by themselves: fprop against the definition, and dgrad and wgrad by what defines
// them, Σ dy·conv(x, w) = Σ dx·x = Σ dw·w for any x, w and dy.
#include "kernels/conv2d/conv2d.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

namespace lathe::kernels {
namespace {

// Small integers, so that sums are exact whatever their order.
std::vector<float> random_integers(int64_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<float> values(n);
  for (float& value : values) value = static_cast<float>(static_cast<int>(generator() % 7) - 3);
  return values;
}

using Kernel = void (*)(const float*, const float*, float*, const ConvShape&, cudaStream_t);

std::vector<float> run(Kernel kernel, const std::vector<float>& a, const std::vector<float>& b,
                       int64_t results, const ConvShape& shape) {
  float *device_a, *device_b, *device_c;
  EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&device_a), a.size() * sizeof(float)), cudaSuccess);
  EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&device_b), b.size() * sizeof(float)), cudaSuccess);
  EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&device_c), results * sizeof(float)), cudaSuccess);
  cudaMemcpy(device_a, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(device_b, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice);
  kernel(device_a, device_b, device_c, shape, nullptr);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  std::vector<float> c(results);
  cudaMemcpy(c.data(), device_c, c.size() * sizeof(float), cudaMemcpyDeviceToHost);
  for (float* data : {device_a, device_b, device_c}) cudaFree(data);
  return c;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

float definition(const ConvShape& s, const std::vector<float>& x, const std::vector<float>& w,
                 int64_t index) {
  int64_t q = index % s.OW, p = index / s.OW % s.OH, o = index / s.OW / s.OH % s.O,
          n = index / s.OW / s.OH / s.O;
  float sum = 0;
  for (int64_t c = 0; c < s.group_inputs(); ++c) {
    for (int64_t tap = 0; tap < s.kernel_h * s.kernel_w; ++tap) {
      int64_t row = p * s.stride_h - s.padding_h + tap / s.kernel_w * s.dilation_h;
      int64_t column = q * s.stride_w - s.padding_w + tap % s.kernel_w * s.dilation_w;
      if (row < 0 || row >= s.H || column < 0 || column >= s.W) continue;
      int64_t channel = o / s.group_outputs() * s.group_inputs() + c;
      sum += x[((n * s.C + channel) * s.H + row) * s.W + column] *
             w[(o * s.group_inputs() + c) * s.kernel_h * s.kernel_w + tap];
    }
  }
  return sum;
}

TEST(Conv2dKernels, FpropIsTheDefinitionAndGradientsAreItsAdjoints) {
  ConvShape plain{.N = 3,
                  .C = 5,
                  .H = 6,
                  .W = 7,
                  .O = 66,
                  .OH = 6,
                  .OW = 7,
                  .kernel_h = 3,
                  .kernel_w = 3,
                  .stride_h = 1,
                  .stride_w = 1,
                  .padding_h = 1,
                  .padding_w = 1,
                  .dilation_h = 1,
                  .dilation_w = 1,
                  .groups = 1};
  ConvShape odd{.N = 2,
                .C = 6,
                .H = 9,
                .W = 8,
                .O = 4,
                .OH = 5,
                .OW = 3,
                .kernel_h = 3,
                .kernel_w = 2,
                .stride_h = 2,
                .stride_w = 3,
                .padding_h = 2,
                .padding_w = 1,
                .dilation_h = 2,
                .dilation_w = 3,
                .groups = 2};
  for (const ConvShape& s : {plain, odd}) {
    int64_t x_size = s.N * s.C * s.H * s.W, y_size = s.N * s.O * s.OH * s.OW;
    int64_t w_size = s.O * s.group_inputs() * s.kernel_h * s.kernel_w;
    std::vector<float> x = random_integers(x_size, 1), w = random_integers(w_size, 2),
                       dy = random_integers(y_size, 3);
    std::vector<float> y = run(conv2d_fprop, x, w, y_size, s);
    for (int64_t i = 0; i < y_size; ++i) ASSERT_EQ(y[i], definition(s, x, w, i)) << i;
    EXPECT_EQ(dot(run(conv2d_dgrad, dy, w, x_size, s), x), dot(dy, y));
    EXPECT_EQ(dot(run(conv2d_wgrad, x, dy, w_size, s), w), dot(dy, y));
  }
}

}  // namespace
}  // namespace lathe::kernels
