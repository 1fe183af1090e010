// GEMM, rung 6: four floats a load.  C[M,N] = A[M,K] · B[K,N], row-major, fp32.
//
// Idea.        Rung 5 with float4 everywhere: a quarter of the instructions for the same bytes. For the 8
//              elements of a column of A to be neighbours in shared memory, its tile is stored transposed.
// Bytes.       4·M·N·K·(1/128 + 1/128) from global memory, in requests of 512 bytes a warp.
// Operations.  2·M·N·K.
// Bound.       Arithmetic, less the bank conflicts that are left: 8 lanes read float4s 8 floats apart.
// Instructions. LDG.E.128; LDS.128.
//
// Global memory is read 16 bytes at a time where every row begins at a multiple of 16 bytes, else float by
// float.
#include "kernels/gemm/tile_grid.h"
#include "kernels/gemm/vector_access.cuh"

namespace lathe::kernels {
namespace {

constexpr int kTileM = 128, kTileN = 128;  // rows and columns of C that a block makes
constexpr int kTileK = 8;                  // k of one tile of A and B
constexpr int kThreadM = 8, kThreadN = 8;  // rows and columns of C that a thread makes
constexpr int kThreads = (kTileM / kThreadM) * (kTileN / kThreadN);
static_assert(kTileM * kTileK == kThreads * 4 && kTileK * kTileN == kThreads * 4,
              "every thread loads one float4 of each tile");
static_assert(kThreadM == 8 && kThreadN == 8, "a thread reads its rows and columns as two float4s each");

template <bool kWide>
__global__ void __launch_bounds__(kThreads)
    gemm_06_vectorised(const float* __restrict__ A,  // [M,K]
                       const float* __restrict__ B,  // [K,N]
                       float* __restrict__ C,        // [M,N]
                       int64_t lda, int64_t ldb, int64_t ldc, int64_t M, int64_t N, int64_t K) {
  __shared__ __align__(16) float a_tile[kTileK][kTileM], b_tile[kTileK][kTileN];
  const int thread = threadIdx.x;
  const int64_t first_m = int64_t(blockIdx.y) * kTileM, first_n = int64_t(blockIdx.x) * kTileN;
  const int a_m = thread / (kTileK / 4), a_k = thread % (kTileK / 4) * 4;  // what it loads
  const int b_k = thread / (kTileN / 4), b_n = thread % (kTileN / 4) * 4;
  const int m = thread / (kTileN / kThreadN) * kThreadM;  // what it makes
  const int n = thread % (kTileN / kThreadN) * kThreadN;

  float sum[kThreadM][kThreadN] = {};
  for (int64_t k = 0; k < K; k += kTileK) {
    const float4 a4 = load4<kWide>(A + (first_m + a_m) * lda, k + a_k, first_m + a_m < M ? K : 0);
    a_tile[a_k][a_m] = a4.x;
    a_tile[a_k + 1][a_m] = a4.y;
    a_tile[a_k + 2][a_m] = a4.z;
    a_tile[a_k + 3][a_m] = a4.w;
    *reinterpret_cast<float4*>(&b_tile[b_k][b_n]) =
        load4<kWide>(B + (k + b_k) * ldb, first_n + b_n, k + b_k < K ? N : 0);
    __syncthreads();
    for (int i = 0; i < kTileK; ++i) {
      float a[kThreadM], b[kThreadN];
      read4(&a[0], &a_tile[i][m]), read4(&a[4], &a_tile[i][m + 4]);
      read4(&b[0], &b_tile[i][n]), read4(&b[4], &b_tile[i][n + 4]);
      for (int column = 0; column < kThreadN; ++column) {
        for (int row = 0; row < kThreadM; ++row) sum[row][column] += a[row] * b[column];
      }
    }
    __syncthreads();
  }
  for (int row = 0; row < kThreadM; ++row) {
    if (first_m + m + row >= M) break;
    for (int column = 0; column < kThreadN; column += 4) {
      const float* s = &sum[row][column];
      store4<kWide>(C + (first_m + m + row) * ldc, first_n + n + column, N,
                    make_float4(s[0], s[1], s[2], s[3]));
    }
  }
}

}  // namespace

void gemm_vectorised(const Gemm<float>& p, cudaStream_t stream) {
  const bool wide =
      rows_take_float4(p.A, p.lda) && rows_take_float4(p.B, p.ldb) && rows_take_float4(p.C, p.ldc);
  auto launch_with = [&](auto kWide) {
    launch<gemm_06_vectorised<kWide()>>(tile_grid(p, kTileM, kTileN, "gemm_vectorised"), kThreads, 0, stream,
                                        p.A, p.B, p.C, p.lda, p.ldb, p.ldc, p.M, p.N, p.K);
  };
  wide ? launch_with(std::true_type()) : launch_with(std::false_type());
}

}  // namespace lathe::kernels
