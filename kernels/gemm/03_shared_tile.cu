// GEMM, rung 3: shared-memory tiles.  C[M,N] = A[M,K] · B[K,N], row-major, fp32.
//
// Idea.        Rung 2 fetches every element of A N times and of B M times. A block now loads a T×T tile of A
//              and one of B together, waits, and each of its threads uses a row and a column of them.
// Bytes.       4·M·N·K·(1/T + 1/T) from global memory instead of 4·M·N·K·2: at T = 32, 1/32 of it.
// Operations.  2·M·N·K.
// Bound.       Shared memory: two loads from it for each multiply-add.
#include "kernels/gemm/tile_grid.h"

namespace lathe::kernels {
namespace {

template <int T>
__global__ void __launch_bounds__(T* T)
    gemm_03_shared_tile(const float* __restrict__ A,  // [M,K]
                        const float* __restrict__ B,  // [K,N]
                        float* __restrict__ C,        // [M,N]
                        int64_t lda, int64_t ldb, int64_t ldc, int64_t M, int64_t N, int64_t K) {
  static_assert(T * T <= 1024, "a block has a thread for each element of its tile");
  __shared__ float a_tile[T][T], b_tile[T][T];
  const int x = threadIdx.x, y = threadIdx.y;
  const int64_t m = int64_t(blockIdx.y) * T + y, n = int64_t(blockIdx.x) * T + x;

  float sum = 0;
  for (int64_t k = 0; k < K; k += T) {
    a_tile[y][x] = m < M && k + x < K ? A[m * lda + k + x] : 0;
    b_tile[y][x] = k + y < K && n < N ? B[(k + y) * ldb + n] : 0;
    __syncthreads();  // the tiles are complete
    for (int i = 0; i < T; ++i) sum += a_tile[y][i] * b_tile[i][x];
    __syncthreads();  // nobody needs them any more
  }
  if (m < M && n < N) C[m * ldc + n] = sum;
}

}  // namespace

void gemm_shared_tile(const Gemm<float>& p, cudaStream_t stream) {
  constexpr int T = 32;
  launch<gemm_03_shared_tile<T>>(tile_grid(p, T, T, "gemm_shared_tile"), dim3(T, T), 0, stream, p.A, p.B, p.C,
                                 p.lda, p.ldb, p.ldc, p.M, p.N, p.K);
}

}  // namespace lathe::kernels
