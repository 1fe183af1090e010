// GEMM, rung 8: loading while multiplying.  C[M,N] = op(A)[M,K] · op(B)[K,N], row-major, fp32.
//
// Idea.        In rung 7 the arithmetic stands still while a tile comes from global memory. Here a block has
//              two pairs of tiles: cp.async fills one beside the threads that multiply the other.
// Bytes.       4·M·N·K·(1/128 + 1/128) from global memory, on their way to shared memory past the registers.
// Operations.  2·M·N·K.
// Bound.       Arithmetic, where the time to multiply a tile is longer than the latency of memory.
// Instructions. LDGSTS from sm_80; LDS.128.
//
// A matrix may be given transposed. Tiles lie in shared memory as [k][m] and [k][n]. What lies in memory like
// that, B and a transposed A, is copied 16 bytes at a time where every row begins at a multiple of 16 bytes;
// the rest float by float, A and a transposed B because they are transposed on the way. sm_75 lacks cp.async:
// there the copies are loads and stores, and all that is left of the idea is one barrier a tile instead of two.
// Multiplies for the engine's handwritten linear layers.
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
constexpr int kTile = kTileM;      // of both operands
constexpr int kPitch = kTile + 4;  // a row of a tile: the 8 k of 4 rows are stored into 32 banks
static_assert(kTileM == kTileN, "both operands are copied in the same way");
static_assert(kTile * kTileK == kThreads * 4, "every thread copies four floats of each operand");
static_assert(kLanesM * kLanesN == 32 && kLanesM * kThreadM == kWarpM && kLanesN * kThreadN == kWarpN,
              "a warp's lanes cover its tile");
static_assert(kThreadM == 8 && kThreadN == 8, "two float4s of each operand");
static_assert(kPitch % 4 == 0, "float4 reads are 16-byte aligned");

using Tile = float[kTileK][kPitch];  // of A: [k][m]; of B: [k][n]
struct Tiles {
  __align__(16) Tile a, b;
};

// All threads of the block together: starts to copy the tile at row m or column n `first`; 0 outside the
// matrix, which has `count` of them. kAlongK: neighbouring k are neighbours in memory.
template <bool kAlongK, bool kWide>
__device__ void start_copying(Tile& tile, const float* matrix, int64_t leading, int64_t first, int64_t count,
                              int64_t first_k, int64_t K) {
  const int thread = threadIdx.x;
  if constexpr (kAlongK) {
    for (int i = 0; i < kTile * kTileK; i += kThreads) {
      const int row = (i + thread) / kTileK, column = (i + thread) % kTileK;
      const int64_t m = first + row, k = first_k + column;
      const bool inside = m < count && k < K;
      cp_async<4>(&tile[column][row], inside ? matrix + m * leading + k : matrix, inside ? 4 : 0);
    }
  } else {
    const int row = thread / (kTile / 4), column = thread % (kTile / 4) * 4;
    const int64_t k = first_k + row, n = first + column;
    const int64_t left = k < K ? count - n : 0;  // floats of this row from n on
    const float* from = left > 0 ? matrix + k * leading + n : matrix;
    if constexpr (kWide) {
      cp_async<16>(&tile[row][column], from, left >= 4 ? 16 : left > 0 ? int(left) * 4 : 0);
    } else {
      for (int j = 0; j < 4; ++j) {
        cp_async<4>(&tile[row][column + j], j < left ? from + j : matrix, j < left ? 4 : 0);
      }
    }
  }
}

template <bool kTransposeA, bool kTransposeB, bool kWide>
__global__ void __launch_bounds__(kThreads)
    gemm_08_double_buffered(const float* __restrict__ A,  // [M,K]; transposed: [K,M]
                            const float* __restrict__ B,  // [K,N]; transposed: [N,K]
                            float* __restrict__ C,        // [M,N]
                            int64_t lda, int64_t ldb, int64_t ldc, int64_t M, int64_t N, int64_t K) {
  __shared__ Tiles buffers[2];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64_t first_m = int64_t(blockIdx.y) * kTileM, first_n = int64_t(blockIdx.x) * kTileN;
  const int m = warp / (kTileN / kWarpN) * kWarpM + lane / kLanesN * 4;  // as in rung 7
  const int n = warp % (kTileN / kWarpN) * kWarpN + lane % kLanesN * 4;

  const auto start_loading = [&](Tiles& tiles, int64_t k) {
    start_copying<!kTransposeA, kWide>(tiles.a, A, lda, first_m, M, k, K);
    start_copying<kTransposeB, kWide>(tiles.b, B, ldb, first_n, N, k, K);
    cp_async_commit();
  };

  float sum[kThreadM][kThreadN] = {};
  start_loading(buffers[0], 0);
  for (int64_t k = 0, now = 0; k < K; k += kTileK, now ^= 1) {
    cp_async_wait<0>();
    __syncthreads();  // every thread's copies are here, and nobody multiplies the other tiles any more
    if (k + kTileK < K) start_loading(buffers[now ^ 1], k + kTileK);
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
  const bool a = p.transpose_a == Transpose::yes, b = p.transpose_b == Transpose::yes;
  const bool wide = (!a || rows_take_float4(p.A, p.lda)) && (b || rows_take_float4(p.B, p.ldb)) &&
                    rows_take_float4(p.C, p.ldc);
  const dim3 grid = tile_grid(p, kTileM, kTileN, "gemm_double_buffered", true);
  const auto with = [](bool value, const auto& function) {
    value ? function(std::true_type()) : function(std::false_type());
  };
  with(a, [&](auto kA) {
    with(b, [&](auto kB) {
      with(wide, [&](auto kWide) {
        launch<gemm_08_double_buffered<kA(), kB(), kWide()>>(grid, kThreads, 0, stream, p.A, p.B, p.C, p.lda,
                                                             p.ldb, p.ldc, p.M, p.N, p.K);
      });
    });
  });
}

}  // namespace lathe::kernels
