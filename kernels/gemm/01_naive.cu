// GEMM, rung 1: one thread for each element of C.  C[M,N] = A[M,K] · B[K,N], row-major, fp32.
//
// Idea.        The definition, written down: a thread walks along a row of A and down a column of B. Threads
//              are laid over C with x along the rows, as a reader of the formula would do it first.
// Bytes.       Asked for: 8 a multiply-add. Neighbouring threads read neighbouring rows of A, K elements
//              apart: each of the 32 lanes of a warp asks for a sector of its own.
// Operations.  2·M·N·K.
// Bound.       The memory system: 32 sectors of 32 bytes move for 128 bytes that are used.
#include "hostcuda/portable/launch.h"
#include "kernels/gemm/ladder.h"

namespace lathe::kernels {
namespace {

constexpr int kBlock = 16;  // rows and columns of C that a block makes

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
  launch_flat<gemm_01_naive>(dim3(blocks_for(p.M, kBlock), blocks_for(p.N, kBlock)), dim3(kBlock, kBlock),
                             stream, p.A, p.B, p.C, p.lda, p.ldb, p.ldc, p.M, p.N, p.K);
}

}  // namespace lathe::kernels
