// GEMM, rung 1: one thread for each element of C.  C[M,N] = A[M,K] · B[K,N], row-major, fp32.
//
// Idea.        The definition, written down: a thread walks along a row of A and down a column of B. Threads
//              are laid over C with x along its first index, as who reads the formula would do it.
// Bytes.       Asked for: 8 a multiply-add. The 32 lanes of a warp stand one below the other in C and read 32
//              rows of A, each of which lies in a sector of its own: 33 sectors of 32 bytes move for 32
//              multiply-adds.
// Operations.  2·M·N·K.
// Bound.       The memory system: of 32 bytes that move for A, 4 are used.
#include "kernels/gemm/tile_grid.h"

namespace lathe::kernels {
namespace {

constexpr int kRows = 32, kColumns = 8;  // of C that a block makes; a warp is one column

__global__ void gemm_01_naive(const float* __restrict__ A,  // [M,K]
                              const float* __restrict__ B,  // [K,N]
                              float* __restrict__ C,        // [M,N]
                              int64_t lda, int64_t ldb, int64_t ldc, int64_t M, int64_t N,
                              int64_t K LATHE_FLAT) {
  const int64_t m = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t n = int64_t(blockIdx.y) * blockDim.y + threadIdx.y;
  if (m >= M || n >= N) return;
  float sum = 0;
  for (int64_t k = 0; k < K; ++k) sum += A[m * lda + k] * B[k * ldb + n];
  C[m * ldc + n] = sum;
}

}  // namespace

void gemm_naive(const Gemm<float>& p, cudaStream_t stream) {
  const dim3 tiles = tile_grid(p, kRows, kColumns, "gemm_naive");
  launch_flat<gemm_01_naive>(dim3(tiles.y, tiles.x), dim3(kRows, kColumns), stream, p.A, p.B, p.C, p.lda,
                             p.ldb, p.ldc, p.M, p.N, p.K);
}

}  // namespace lathe::kernels
