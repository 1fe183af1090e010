// The GEMM ladder beyond its rungs' trials: what it refuses before it launches anything, and NaN.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/gemm/ladder.h"
#include "kernels/unsupported.h"
#include "tests/hostcuda/device_array.h"

namespace lathe::kernels {
namespace {

TEST(GemmLadder, RefusesMoreRowsThanAGridReaches) {
  Gemm<float> problem{};
  problem.M = int64_t{65535} * 128 + 1;  // the largest tile has 128 rows
  problem.N = problem.K = 1;
  for (auto launcher : {gemm_coalesced, gemm_shared_tile, gemm_register_tile_1d, gemm_register_tile_2d,
                        gemm_vectorised, gemm_warp_tile, gemm_double_buffered}) {
    try {
      launcher(problem, nullptr);
      ADD_FAILURE() << "launched";
    } catch (const Unsupported& refusal) {
      EXPECT_NE(std::string(refusal.what()).find("C has 8388481 rows and 1 columns, at most "),
                std::string::npos)
          << refusal.what();
    }
  }
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(GemmLadder, RungsThatTakeNoTransposesSaySo) {
  Gemm<float> problem{};
  problem.M = problem.N = problem.K = 1;
  problem.transpose_b = Transpose::yes;
  for (auto launcher : {gemm_naive, gemm_coalesced, gemm_shared_tile, gemm_register_tile_1d,
                        gemm_register_tile_2d, gemm_vectorised, gemm_warp_tile}) {
    try {
      launcher(problem, nullptr);
      ADD_FAILURE() << "launched";
    } catch (const Unsupported& refusal) {
      EXPECT_NE(std::string(refusal.what()).find("gemm_double_buffered takes them"), std::string::npos)
          << refusal.what();
    }
  }
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(GemmLadder, ReluKeepsNaN) {
  constexpr int64_t kSize = 17;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<__half> a(kSize * kSize, __float2half(-1.0f));
  a[3 * kSize] = __float2half(nan);  // row 3 of C is NaN, all else −17
  DeviceArray<__half> A(a), B(std::vector<__half>(kSize * kSize, __float2half(1.0f))), C(kSize * kSize);
  Gemm<__half> problem{A.data(), kSize, B.data(), kSize, C.data(), kSize, kSize, kSize, kSize};
  problem.relu = true;
  using Launcher = void (*)(const Gemm<__half>&, cudaStream_t);
  for (const Launcher launcher : {Launcher(gemm_wmma), Launcher(gemm_mma_pipelined)}) {
    launcher(problem, nullptr);
    const std::vector<__half> c = C.host();
    for (int64_t i = 0; i < kSize * kSize; ++i) {
      const float value = __half2float(c[static_cast<size_t>(i)]);
      if (i / kSize == 3) {
        EXPECT_TRUE(std::isnan(value)) << i;
      } else {
        EXPECT_EQ(value, 0.0f) << i;
      }
    }
  }
}

}  // namespace
}  // namespace lathe::kernels
