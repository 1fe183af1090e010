// GEMM, rung 5: a square of results in registers.  C[M,N] = A[M,K] · B[K,N], row-major, fp32.
//
// Idea.        Rung 4 in both directions: a thread makes 8×8 elements of C. For each k it reads 8 elements of
//              A and 8 of B, and adds all their 64 products.
// Bytes.       4·M·N·K·(1/128 + 1/128) from global memory, with tiles of 128×128.
// Operations.  2·M·N·K.
// Bound.       Arithmetic comes into sight: 1/4 of a load from shared memory a multiply-add. But they are
//              narrow loads, and neighbouring threads read 8 floats apart: 4 lanes contend for a bank.
#include "kernels/gemm/tile_grid.h"

namespace lathe::kernels {
namespace {

constexpr int kTileM = 128, kTileN = 128;  // rows and columns of C that a block makes
constexpr int kTileK = 8;                  // k of one tile of A and B
constexpr int kThreadM = 8, kThreadN = 8;  // rows and columns of C that a thread makes
constexpr int kThreads = (kTileM / kThreadM) * (kTileN / kThreadN);
static_assert(kTileM % kThreadM == 0 && kTileN % kThreadN == 0, "threads cover the tile");
static_assert(kTileM * kTileK % kThreads == 0 && kTileK * kTileN % kThreads == 0,
              "every thread loads equally much");

// All threads of the block together: a tile of a matrix [rows, columns], 0 outside of it.
template <int kRows, int kColumns>
__device__ void load_tile(float (&tile)[kRows][kColumns], const float* matrix, int64_t leading,
                          int64_t first_row, int64_t first_column, int64_t rows, int64_t columns) {
  for (int i = 0; i < kRows * kColumns; i += kThreads) {
    const int r = (i + threadIdx.x) / kColumns, c = (i + threadIdx.x) % kColumns;
    const int64_t row = first_row + r, column = first_column + c;
    tile[r][c] = row < rows && column < columns ? matrix[row * leading + column] : 0;
  }
}

__global__ void __launch_bounds__(kThreads)
    gemm_05_register_tile_2d(const float* __restrict__ A,  // [M,K]
                             const float* __restrict__ B,  // [K,N]
                             float* __restrict__ C,        // [M,N]
                             int64_t lda, int64_t ldb, int64_t ldc, int64_t M, int64_t N, int64_t K) {
  __shared__ float a_tile[kTileM][kTileK], b_tile[kTileK][kTileN];
  const int64_t first_m = int64_t(blockIdx.y) * kTileM, first_n = int64_t(blockIdx.x) * kTileN;
  const int m = threadIdx.x / (kTileN / kThreadN) * kThreadM;  // of this thread's square in the tile
  const int n = threadIdx.x % (kTileN / kThreadN) * kThreadN;

  float sum[kThreadM][kThreadN] = {};
  for (int64_t k = 0; k < K; k += kTileK) {
    load_tile(a_tile, A, lda, first_m, k, M, K);
    load_tile(b_tile, B, ldb, k, first_n, K, N);
    __syncthreads();
    for (int i = 0; i < kTileK; ++i) {
      float a[kThreadM], b[kThreadN];
      for (int row = 0; row < kThreadM; ++row) a[row] = a_tile[m + row][i];
      for (int column = 0; column < kThreadN; ++column) b[column] = b_tile[i][n + column];
      for (int row = 0; row < kThreadM; ++row) {
        for (int column = 0; column < kThreadN; ++column) sum[row][column] += a[row] * b[column];
      }
    }
    __syncthreads();
  }
  for (int row = 0; row < kThreadM; ++row) {
    for (int column = 0; column < kThreadN; ++column) {
      const int64_t c_m = first_m + m + row, c_n = first_n + n + column;
      if (c_m < M && c_n < N) C[c_m * ldc + c_n] = sum[row][column];
    }
  }
}

}  // namespace

void gemm_register_tile_2d(const Gemm<float>& p, cudaStream_t stream) {
  launch<gemm_05_register_tile_2d>(tile_grid(p, kTileM, kTileN, "gemm_register_tile_2d"), kThreads, 0, stream,
                                   p.A, p.B, p.C, p.lda, p.ldb, p.ldc, p.M, p.N, p.K);
}

}  // namespace lathe::kernels
