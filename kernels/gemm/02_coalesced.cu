// GEMM, rung 2: threads along the rows of C.  C[M,N] = A[M,K] · B[K,N], row-major, fp32.
//
// Idea.        Rung 1 with x and y exchanged: the 32 lanes of a warp now stand side by side in one row of C.
//              They read 32 neighbours of a row of B in one request, and one element of A for all of them.
// Bytes.       Asked for: 8 a multiply-add, as before. Moved: 4 sectors of 32 bytes of B and one of A for
//              32 multiply-adds, where rung 1 moved a sector of A for each.
// Operations.  2·M·N·K.
// Bound.       The caches: every element of A and B is still asked for anew by each thread that uses it.
#include "kernels/gemm/tile_grid.h"

namespace lathe::kernels {
namespace {

constexpr int kRows = 8, kColumns = 32;  // of C that a block makes; a warp is one row
static_assert(kColumns == 32, "the lanes of a warp share a row of A");

__global__ void gemm_02_coalesced(const float* __restrict__ A,  // [M,K]
                                  const float* __restrict__ B,  // [K,N]
                                  float* __restrict__ C,        // [M,N]
                                  int64_t lda, int64_t ldb, int64_t ldc, int64_t M, int64_t N,
                                  int64_t K LATHE_FLAT) {
  const int64_t m = int64_t(blockIdx.y) * blockDim.y + threadIdx.y;
  const int64_t n = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (m >= M || n >= N) return;
  float sum = 0;
  for (int64_t k = 0; k < K; ++k) sum += A[m * lda + k] * B[k * ldb + n];
  C[m * ldc + n] = sum;
}

}  // namespace

void gemm_coalesced(const Gemm<float>& p, cudaStream_t stream) {
  launch_flat<gemm_02_coalesced>(tile_grid(p, kRows, kColumns, "gemm_coalesced"), dim3(kColumns, kRows),
                                 stream, p.A, p.B, p.C, p.lda, p.ldb, p.ldc, p.M, p.N, p.K);
}

}  // namespace lathe::kernels
