// GEMM, rung 4: a column of results in registers.  C[M,N] = A[M,K] · B[K,N], row-major, fp32.
//
// Idea.        In rung 3 each multiply-add loads both its factors from shared memory. A thread now makes 8
//              elements of a column of C: an element of B, once in a register, serves all 8.
// Bytes.       4·M·N·K·(1/64 + 1/64) from global memory, with tiles of 64×64.
// Operations.  2·M·N·K.
// Bound.       Shared memory: 9 loads for 8 multiply-adds, where rung 3 has 16.
#include "kernels/gemm/tile_grid.h"

namespace lathe::kernels {
namespace {

constexpr int kTileM = 64, kTileN = 64;  // rows and columns of C that a block makes
constexpr int kTileK = 8;                // k of one tile of A and B
constexpr int kThreadM = 8;              // rows of C that a thread makes, in one column
constexpr int kThreads = kTileM / kThreadM * kTileN;
constexpr int kBlocks = 1;  // at least, in a multiprocessor: unasked, nvcc spills registers to fit two
static_assert(kThreads == kTileM * kTileK && kThreads == kTileK * kTileN,
              "every thread loads one element of each tile");

__global__ void __launch_bounds__(kThreads, kBlocks)
    gemm_04_register_tile_1d(const float* __restrict__ A,  // [M,K]
                             const float* __restrict__ B,  // [K,N]
                             float* __restrict__ C,        // [M,N]
                             int64_t lda, int64_t ldb, int64_t ldc, int64_t M, int64_t N, int64_t K) {
  __shared__ float a_tile[kTileM][kTileK], b_tile[kTileK][kTileN];
  const int thread = threadIdx.x;
  const int64_t first_m = int64_t(blockIdx.y) * kTileM, first_n = int64_t(blockIdx.x) * kTileN;
  const int a_m = thread / kTileK, a_k = thread % kTileK;  // what it loads
  const int b_k = thread / kTileN, b_n = thread % kTileN;
  const int m = thread / kTileN * kThreadM, n = thread % kTileN;  // what it makes

  float sum[kThreadM] = {};
  for (int64_t k = 0; k < K; k += kTileK) {
    a_tile[a_m][a_k] = first_m + a_m < M && k + a_k < K ? A[(first_m + a_m) * lda + k + a_k] : 0;
    b_tile[b_k][b_n] = k + b_k < K && first_n + b_n < N ? B[(k + b_k) * ldb + first_n + b_n] : 0;
    __syncthreads();
    for (int i = 0; i < kTileK; ++i) {
      const float b = b_tile[i][n];
      for (int row = 0; row < kThreadM; ++row) sum[row] += a_tile[m + row][i] * b;
    }
    __syncthreads();
  }
  for (int row = 0; row < kThreadM; ++row) {
    if (first_m + m + row < M && first_n + n < N) C[(first_m + m + row) * ldc + first_n + n] = sum[row];
  }
}

}  // namespace

void gemm_register_tile_1d(const Gemm<float>& p, cudaStream_t stream) {
  launch<gemm_04_register_tile_1d>(tile_grid(p, kTileM, kTileN, "gemm_register_tile_1d"), kThreads, 0, stream,
                                   p.A, p.B, p.C, p.lda, p.ldb, p.ldc, p.M, p.N, p.K);
}

}  // namespace lathe::kernels
