// GEMM, rung 9: tensor cores.  C[M,N] = A[M,K] · B[K,N] (+ bias, max(0, ·)), row-major, fp16 or bf16 in, fp32
// within.
//
// Idea.        One operation of a warp multiplies 16×16 by 16×16 numbers of 16 bits and adds in fp32. wmma
//              hides how these lie in the lanes' registers: fragments are loaded, multiplied, stored. A
//              warp makes 64×32 elements of the block's 128×128, as 4×2 fragments.
// Bytes.       2·M·N·K·(1/128 + 1/128) from global memory, half of rung 8: the numbers are half as wide.
// Operations.  2·M·N·K, 8192 an operation of a warp, where fp32 makes 64.
// Bound.       Latency: a tile is loaded through registers while the tensor cores wait. What a fragment
//              holds where is unknown, so C goes through shared memory before bias and rounding. The padded
//              rows are read without bank conflicts, but A's are written in two passes instead of one.
// Instructions. HMMA.
//
// Global memory is read and written 16 bytes at a time where all rows begin at a multiple of 16 bytes, else
// number by number. fp16 runs on sm_75 and later, bf16 on sm_80 and later; elsewhere the launcher throws.
#include <mma.h>

#include "hostcuda/portable/tensor_core.h"
#include "kernels/gemm/eight_wide.cuh"
#include "kernels/gemm/tensor_cores.h"
#include "kernels/gemm/tile_grid.h"

namespace lathe::kernels {
namespace {

namespace wmma = nvcuda::wmma;

constexpr int kTileM = 128, kTileN = 128;  // rows and columns of C that a block makes
constexpr int kTileK = 32;                 // k of one tile of A and B
constexpr int kWarpM = 64, kWarpN = 32;    // rows and columns of C that a warp makes
constexpr int kSide = 16;                  // of a fragment
constexpr int kWarps = (kTileM / kWarpM) * (kTileN / kWarpN), kThreads = kWarps * 32;
constexpr int kPitchA = kTileK + 8, kPitchB = kTileN + 8;  // 8 rows of 16 bytes lie in all 32 banks
constexpr int kPitchC = kSide + 4;
static_assert(kTileM % kWarpM == 0 && kTileN % kWarpN == 0, "warps cover the block's tile");
static_assert(kWarpM % kSide == 0 && kWarpN % kSide == 0 && kTileK % kSide == 0, "fragments cover a warp's");
static_assert(kTileM * kTileK % (8 * kThreads) == 0 && kTileK * kTileN % (8 * kThreads) == 0,
              "every thread loads equally much, 8 numbers at a time");
static_assert(kPitchA % 8 == 0 && kPitchB % 8 == 0 && kPitchC % 4 == 0, "wmma's leading dimensions");
static_assert(kSide * kPitchA % 16 == 0 && kSide * kPitchB % 16 == 0 && kSide * kPitchC % 8 == 0,
              "fragments begin at multiples of 32 bytes");

template <typename T, bool kWide>
__global__ void __launch_bounds__(kThreads)
    gemm_09_wmma(const T* __restrict__ A,     // [M,K]
                 const T* __restrict__ B,     // [K,N]
                 T* __restrict__ C,           // [M,N]
                 const T* __restrict__ bias,  // [N], or null
                 bool relu, int64_t lda, int64_t ldb, int64_t ldc, int64_t M, int64_t N, int64_t K) {
  if constexpr (kTensorCoresTake<T>) {  // nothing for an architecture without
    __shared__ __align__(32) T a_tile[kTileM][kPitchA];
    __shared__ __align__(32) T b_tile[kTileK][kPitchB];
    __shared__ __align__(32) float c_tile[kWarps][kSide][kPitchC];
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int64_t first_m = int64_t(blockIdx.y) * kTileM, first_n = int64_t(blockIdx.x) * kTileN;
    const int m = warp / (kTileN / kWarpN) * kWarpM, n = warp % (kTileN / kWarpN) * kWarpN;  // of its 64×32

    wmma::fragment<wmma::accumulator, kSide, kSide, kSide, float> sum[kWarpM / kSide][kWarpN / kSide];
    for (auto& row : sum)
      for (auto& fragment : row) wmma::fill_fragment(fragment, 0.0f);

    for (int64_t k = 0; k < K; k += kTileK) {
      for (int i = thread * 8; i < kTileM * kTileK; i += kThreads * 8) {
        const int row = i / kTileK, column = i % kTileK;
        copy8<kWide>(&a_tile[row][column], A + (first_m + row) * lda, k + column, first_m + row < M ? K : 0);
      }
      for (int i = thread * 8; i < kTileK * kTileN; i += kThreads * 8) {
        const int row = i / kTileN, column = i % kTileN;
        copy8<kWide>(&b_tile[row][column], B + (k + row) * ldb, first_n + column, k + row < K ? N : 0);
      }
      __syncthreads();
      for (int step = 0; step < kTileK; step += kSide) {
        wmma::fragment<wmma::matrix_a, kSide, kSide, kSide, T, wmma::row_major> a[kWarpM / kSide];
        wmma::fragment<wmma::matrix_b, kSide, kSide, kSide, T, wmma::row_major> b[kWarpN / kSide];
        for (int i = 0; i < kWarpM / kSide; ++i)
          wmma::load_matrix_sync(a[i], &a_tile[m + i * kSide][step], kPitchA);
        for (int j = 0; j < kWarpN / kSide; ++j)
          wmma::load_matrix_sync(b[j], &b_tile[step][n + j * kSide], kPitchB);
        for (int i = 0; i < kWarpM / kSide; ++i)
          for (int j = 0; j < kWarpN / kSide; ++j) wmma::mma_sync(sum[i][j], a[i], b[j], sum[i][j]);
      }
      __syncthreads();
    }

    // Fragment by fragment through the warp's own shared memory: a lane writes 8 numbers of half a row.
    // Neighbouring lanes take neighbouring rows: the 8 that read float4s together meet all 32 banks once.
    const int row = lane % kSide, column = lane / kSide * 8;
    LATHE_UNROLL for (int i = 0; i < kWarpM / kSide; ++i) {
      LATHE_UNROLL for (int j = 0; j < kWarpN / kSide; ++j) {
        wmma::store_matrix_sync(&c_tile[warp][0][0], sum[i][j], kPitchC, wmma::mem_row_major);
        __syncwarp();
        const int64_t c_m = first_m + m + i * kSide + row, c_n = first_n + n + j * kSide + column;
        if (c_m < M) finish8<kWide>(C + c_m * ldc, c_n, N, &c_tile[warp][row][column], bias, relu);
        __syncwarp();
      }
    }
  }
}

template <typename T, bool kWide>
void launch_wmma(const Gemm<T>& p, cudaStream_t stream) {
  launch<gemm_09_wmma<T, kWide>>(tile_grid(p, kTileM, kTileN, "gemm_wmma"), kThreads, 0, stream, p.A, p.B,
                                 p.C, p.bias, p.relu, p.lda, p.ldb, p.ldc, p.M, p.N, p.K);
}

template <typename T>
void run(const Gemm<T>& p, cudaStream_t stream) {
  require_tensor_cores<T>("gemm_wmma");
  const bool wide =
      rows_take_16_bytes(p.A, p.lda) && rows_take_16_bytes(p.B, p.ldb) && rows_take_16_bytes(p.C, p.ldc);
  wide ? launch_wmma<T, true>(p, stream) : launch_wmma<T, false>(p, stream);
}

}  // namespace

void gemm_wmma(const Gemm<__half>& problem, cudaStream_t stream) { run(problem, stream); }
void gemm_wmma(const Gemm<__nv_bfloat16>& problem, cudaStream_t stream) { run(problem, stream); }

}  // namespace lathe::kernels
