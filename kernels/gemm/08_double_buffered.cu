// GEMM, rung 8: loading while multiplying.  C[M,N] = A[M,K] · B[K,N], row-major, fp32.
//
// Idea.        In rung 7 the arithmetic stands still while a tile comes from global memory. Here a block has
//              two pairs of tiles: cp.async fills one beside the threads that multiply the other.
// Bytes.       4·M·N·K·(1/128 + 1/128) from global memory, on their way to shared memory past the registers.
// Operations.  2·M·N·K.
// Bound.       Arithmetic, where the time to multiply a tile is longer than the latency of memory.
//
// B is copied 16 bytes at a time where every row begins at a multiple of 16 bytes, else float by float; A
// always float by float, because it is transposed on the way. sm_75 lacks cp.async: there the copies are
// loads and stores, and all that is left of the idea is one barrier a tile instead of two.
#include "hostcuda/portable/async_copy.h"
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
constexpr int kPitchA = kTileM + 4;  // a row of A's tile: the 8 k of 4 rows are stored into 32 banks
static_assert(kTileM * kTileK % kThreads == 0 && kTileK * kTileN == kThreads * 4,
              "every thread loads equally much of A, and four neighbours of B");
static_assert(kLanesM * kLanesN == 32 && kLanesM * kThreadM == kWarpM && kLanesN * kThreadN == kWarpN,
              "a warp's lanes cover its tile");
static_assert(kThreadM == 8 && kThreadN == 8, "two float4s of each operand");
static_assert(kPitchA % 4 == 0, "float4 reads are 16-byte aligned");

struct Tiles {
  __align__(16) float a[kTileK][kPitchA], b[kTileK][kTileN];
};

// All threads of the block together: starts to copy the tiles of A and B at k; 0 outside the matrices.
template <bool kWide>
__device__ void start_loading(Tiles& tiles, const float* A, const float* B, int64_t lda, int64_t ldb,
                              int64_t first_m, int64_t first_n, int64_t first_k, int64_t M, int64_t N,
                              int64_t K) {
  const int thread = threadIdx.x;
  for (int i = 0; i < kTileM * kTileK; i += kThreads) {
    const int row = (i + thread) / kTileK, column = (i + thread) % kTileK;
    const int64_t m = first_m + row, k = first_k + column;
    const bool inside = m < M && k < K;
    cp_async<4>(&tiles.a[column][row], inside ? A + m * lda + k : A, inside ? 4 : 0);
  }
  const int row = thread / (kTileN / 4), column = thread % (kTileN / 4) * 4;
  const int64_t k = first_k + row, n = first_n + column;
  const int64_t left = k < K ? N - n : 0;  // floats of this row from n on
  const float* from = left > 0 ? B + k * ldb + n : B;
  if constexpr (kWide) {
    cp_async<16>(&tiles.b[row][column], from, left >= 4 ? 16 : left > 0 ? int(left) * 4 : 0);
  } else {
    for (int j = 0; j < 4; ++j) {
      cp_async<4>(&tiles.b[row][column + j], j < left ? from + j : B, j < left ? 4 : 0);
    }
  }
  cp_async_commit();
}

template <bool kWide>
__global__ void __launch_bounds__(kThreads)
    gemm_08_double_buffered(const float* __restrict__ A,  // [M,K]
                            const float* __restrict__ B,  // [K,N]
                            float* __restrict__ C,        // [M,N]
                            int64_t lda, int64_t ldb, int64_t ldc, int64_t M, int64_t N, int64_t K) {
  __shared__ Tiles buffers[2];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64_t first_m = int64_t(blockIdx.y) * kTileM, first_n = int64_t(blockIdx.x) * kTileN;
  const int m = warp / (kTileN / kWarpN) * kWarpM + lane / kLanesN * 4;  // as in rung 7
  const int n = warp % (kTileN / kWarpN) * kWarpN + lane % kLanesN * 4;

  float sum[kThreadM][kThreadN] = {};
  start_loading<kWide>(buffers[0], A, B, lda, ldb, first_m, first_n, 0, M, N, K);
  for (int64_t k = 0, now = 0; k < K; k += kTileK, now ^= 1) {
    cp_async_wait<0>();
    __syncthreads();  // every thread's copies are here, and nobody multiplies the other tiles any more
    if (k + kTileK < K) {
      start_loading<kWide>(buffers[now ^ 1], A, B, lda, ldb, first_m, first_n, k + kTileK, M, N, K);
    }
    const Tiles& tiles = buffers[now];
    for (int i = 0; i < kTileK; ++i) {
      float a[kThreadM], b[kThreadN];
      read4(&a[0], &tiles.a[i][m]), read4(&a[4], &tiles.a[i][m + kWarpM / 2]);
      read4(&b[0], &tiles.b[i][n]), read4(&b[4], &tiles.b[i][n + kWarpN / 2]);
      for (int column = 0; column < kThreadN; ++column) {
        for (int row = 0; row < kThreadM; ++row) sum[row][column] += a[row] * b[column];
      }
    }
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

void gemm_double_buffered(const Gemm<float>& p, cudaStream_t stream) {
  const bool wide = rows_take_float4(p.B, p.ldb) && rows_take_float4(p.C, p.ldc);
  auto launch_with = [&](auto kWide) {
    launch<gemm_08_double_buffered<kWide()>>(tile_grid(p, kTileM, kTileN, "gemm_double_buffered"), kThreads,
                                             0, stream, p.A, p.B, p.C, p.lda, p.ldb, p.ldc, p.M, p.N, p.K);
  };
  wide ? launch_with(std::true_type()) : launch_with(std::false_type());
}

}  // namespace lathe::kernels
