// GEMM against a plain triple loop: sizes around the tile, both transposes, leading dimensions wider than the
// rows.
#include "kernels/gemm/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace lathe::kernels {
namespace {

std::vector<float> random_values(int64_t n, uint64_t seed) {
  std::mt19937 generator(static_cast<unsigned>(seed));
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(n);
  for (float& value : values) value = uniform(generator);
  return values;
}

struct DeviceArray {
  explicit DeviceArray(const std::vector<float>& values) : size(values.size()) {
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&data), size * sizeof(float)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data, values.data(), size * sizeof(float), cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~DeviceArray() { cudaFree(data); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  std::vector<float> values() const {
    std::vector<float> result(size);
    EXPECT_EQ(cudaMemcpy(result.data(), data, size * sizeof(float), cudaMemcpyDeviceToHost), cudaSuccess);
    return result;
  }
  float* data = nullptr;
  size_t size;
};

void expect_product(int64_t M, int64_t N, int64_t K, Transpose ta, Transpose tb, int64_t gap) {
  SCOPED_TRACE(::testing::Message() << M << "×" << N << "×" << K
                                    << (ta == Transpose::yes ? " A transposed" : "")
                                    << (tb == Transpose::yes ? " B transposed" : "") << " gap " << gap);
  bool a_turned = ta == Transpose::yes, b_turned = tb == Transpose::yes;
  int64_t lda = (a_turned ? M : K) + gap, ldb = (b_turned ? K : N) + gap, ldc = N + gap;
  std::vector<float> a = random_values((a_turned ? K : M) * lda, 1),
                     b = random_values((b_turned ? N : K) * ldb, 2);
  const std::vector<float> before(M * ldc, -77);
  DeviceArray A(a), B(b), C(before);
  gemm({A.data, lda, ta}, {B.data, ldb, tb}, C.data, ldc, M, N, K, nullptr);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  std::vector<float> c = C.values();
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t n = 0; n < ldc; ++n) {
      double expected = n < N ? 0 : -77;  // between the rows nothing is touched
      for (int64_t k = 0; n < N && k < K; ++k) {
        expected += double{a[a_turned ? k * lda + m : m * lda + k]} * b[b_turned ? n * ldb + k : k * ldb + n];
      }
      ASSERT_NEAR(c[m * ldc + n], expected, 2e-5) << "row " << m << " column " << n;
    }
  }
}

TEST(Gemm, EqualsTheTripleLoop) {
  const std::vector<std::vector<int64_t>> sizes = {
      {1, 1, 1}, {64, 64, 16}, {65, 63, 17}, {3, 130, 33}, {129, 1, 5}};
  for (const auto& size : sizes) {
    for (Transpose ta : {Transpose::no, Transpose::yes}) {
      for (Transpose tb : {Transpose::no, Transpose::yes}) {
        for (int64_t gap : {0, 3}) expect_product(size[0], size[1], size[2], ta, tb, gap);
      }
    }
  }
}

}  // namespace
}  // namespace lathe::kernels
