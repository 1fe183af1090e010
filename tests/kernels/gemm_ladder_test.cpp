// What the rungs of the GEMM ladder refuse before they launch anything.
#include <gtest/gtest.h>

#include "kernels/gemm/ladder.h"
#include "kernels/unsupported.h"

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

}  // namespace
}  // namespace lathe::kernels
