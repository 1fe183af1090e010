// GEMM, rung 7: block, warp, thread.  C[M,N] = A[M,K] · B[K,N], row-major, fp32.
//
// Idea.        Between block and thread comes the warp: it makes 32×64 elements of the block's 128×128, its
//              lanes standing 4×8. A thread's 8×8 results lie in four 4×4 pieces, so that neighbouring lanes
//              read neighbouring float4s.
// Bytes.       4·M·N·K·(1/128 + 1/128) from global memory; a warp asks for 96 different floats of shared
//              memory for each k, where rung 6 asks for 144.
// Operations.  2·M·N·K.
// Bound.       Arithmetic: no bank conflicts are left. Loading and multiplying still take turns.
//
// Global memory is read 16 bytes at a time where every row begins at a multiple of 16 bytes, else float by
// float.
#include "kernels/gemm/tile_grid.h"
#include "kernels/gemm/vector_access.cuh"

namespace lathe::kernels {
namespace {

constexpr int kTileM = 128, kTileN = 128;  // rows and columns of C that a block makes
constexpr int kTileK = 8;                  // k of one tile of A and B
constexpr int kWarpM = 32, kWarpN = 64;    // rows and columns of C that a warp makes
constexpr int kLanesM = 4, kLanesN = 8;    // how its lanes stand
constexpr int kThreadM = 8, kThreadN = 8;  // rows and columns of C that a thread makes, in two groups of four
constexpr int kThreads = (kTileM / kWarpM) * (kTileN / kWarpN) * 32;
constexpr int kPitchA = kTileM + 4;  // a row of A's tile: storing its four k of a load hits 32 banks
static_assert(kTileM * kTileK == kThreads * 4 && kTileK * kTileN == kThreads * 4,
              "every thread loads one float4 of each tile");
static_assert(kLanesM * kLanesN == 32 && kLanesM * kThreadM == kWarpM && kLanesN * kThreadN == kWarpN,
              "a warp's lanes cover its tile");
static_assert(kThreadM == 8 && kThreadN == 8, "two float4s of each operand");
static_assert(kLanesN == 8, "the 8 lanes that read float4s together read 32 neighbouring floats of B");
static_assert(kPitchA % 4 == 0, "float4 reads are 16-byte aligned");

template <bool kWide>
__global__ void __launch_bounds__(kThreads)
    gemm_07_warp_tile(const float* __restrict__ A,  // [M,K]
                      const float* __restrict__ B,  // [K,N]
                      float* __restrict__ C,        // [M,N]
                      int64_t lda, int64_t ldb, int64_t ldc, int64_t M, int64_t N, int64_t K) {
  __shared__ __align__(16) float a_tile[kTileK][kPitchA], b_tile[kTileK][kTileN];
  const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  const int64_t first_m = int64_t(blockIdx.y) * kTileM, first_n = int64_t(blockIdx.x) * kTileN;
  const int a_m = thread / (kTileK / 4), a_k = thread % (kTileK / 4) * 4;  // what it loads
  const int b_k = thread / (kTileN / 4), b_n = thread % (kTileN / 4) * 4;
  // What it makes: rows m … m+3 and as many half a warp tile further down, columns alike.
  const int m = warp / (kTileN / kWarpN) * kWarpM + lane / kLanesN * 4;
  const int n = warp % (kTileN / kWarpN) * kWarpN + lane % kLanesN * 4;

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
      read4(&a[0], &a_tile[i][m]), read4(&a[4], &a_tile[i][m + kWarpM / 2]);
      read4(&b[0], &b_tile[i][n]), read4(&b[4], &b_tile[i][n + kWarpN / 2]);
      for (int column = 0; column < kThreadN; ++column) {
        for (int row = 0; row < kThreadM; ++row) sum[row][column] += a[row] * b[column];
      }
    }
    __syncthreads();
  }
  for (int row = 0; row < kThreadM; ++row) {
    const int64_t c_m = first_m + m + row / 4 * (kWarpM / 2) + row % 4;
    if (c_m >= M) break;
    for (int column = 0; column < kThreadN; column += 4) {
      const float* s = &sum[row][column];
      store4<kWide>(C + c_m * ldc, first_n + n + column / 4 * (kWarpN / 2), N,
                    make_float4(s[0], s[1], s[2], s[3]));
    }
  }
}

}  // namespace

void gemm_warp_tile(const Gemm<float>& p, cudaStream_t stream) {
  const bool wide =
      rows_take_float4(p.A, p.lda) && rows_take_float4(p.B, p.ldb) && rows_take_float4(p.C, p.ldc);
  auto launch_with = [&](auto kWide) {
    launch<gemm_07_warp_tile<kWide()>>(tile_grid(p, kTileM, kTileN, "gemm_warp_tile"), kThreads, 0, stream,
                                       p.A, p.B, p.C, p.lda, p.ldb, p.ldc, p.M, p.N, p.K);
  };
  wide ? launch_with(std::true_type()) : launch_with(std::false_type());
}

}  // namespace lathe::kernels
