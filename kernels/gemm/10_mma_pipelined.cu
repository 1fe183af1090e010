// GEMM, rung 10: a pipeline into tensor cores.  C[M,N] = A[M,K] · B[K,N] (+ bias, max(0, ·)), row-major, fp16
// or bf16 in, fp32 within.
//
// Idea.        cp.async brings three tiles ahead into shared memory while a fourth is multiplied: nobody
//              waits for global memory, and one barrier a tile is enough. mma.sync takes operands whose
//              place in registers is known: ldmatrix fetches them, from tiles whose 16-byte chunks are
//              swizzled so that neither writing nor reading meets a bank twice, and bias and max(0, ·) are
//              applied before C leaves the registers.
// Bytes.       2·M·N·K·(1/128 + 1/128) from global memory, as rung 9, but past the registers.
// Operations.  2·M·N·K, 4096 an instruction.
// Bound.       Arithmetic on sm_80. Hopper reaches about two thirds of its peak this way: the rest needs
//              wgmma, which reads operands from shared memory itself.
// Instructions. HMMA; LDSM; LDGSTS from sm_80.
//
// Copies are of 16 bytes where all rows begin at a multiple of 16 bytes, of 4 where they begin at a multiple
// of 4, else number by number without cp.async. Before sm_80, which lacks cp.async, copies are ordinary loads
// and stores, and only fp16 is supported: for bf16 the launcher throws.
#include "hostcuda/portable/async_copy.h"
#include "hostcuda/portable/tensor_core.h"
#include "kernels/gemm/tensor_cores.h"
#include "kernels/gemm/tile_grid.h"

namespace lathe::kernels {
namespace {

constexpr int kTileM = 128, kTileN = 128;  // rows and columns of C that a block makes
constexpr int kTileK = 32;                 // k of one tile of A and B
constexpr int kStages = 4;                 // tiles of each in shared memory
constexpr int kWarpM = 64, kWarpN = 32;    // rows and columns of C that a warp makes
constexpr int kMmaM = 16, kMmaN = 8, kMmaK = 16;
constexpr int kThreads = (kTileM / kWarpM) * (kTileN / kWarpN) * 32;
constexpr int kStage = (kTileM + kTileN) * kTileK;  // numbers in a stage: A's tile, then B's
constexpr int kPitchC = kTileN + 8;                 // the lanes of a warp that write C's tile meet 32 banks
constexpr int kSharedBytes = kStages * kStage * 2;
static_assert(kTileM % kWarpM == 0 && kTileN % kWarpN == 0, "warps cover the block's tile");
static_assert(kWarpM % kMmaM == 0 && kTileK % kMmaK == 0, "mmas cover the warp's tile");
static_assert(kWarpN % (2 * kMmaN) == 0, "ldmatrix_x4 fetches two mmas' columns of B");
static_assert(kStages >= 3, "one tile is multiplied, one has arrived, others are on their way");
static_assert(kTileM * kPitchC <= kStages * kStage, "C's tile fits where the stages were");
static_assert(kSharedBytes <= 64 * 1024, "what sm_75 has");

// Where number (row, column) of a tile lies. The 16-byte chunks of a row change places so that one column of
// chunks, which ldmatrix reads 8 rows of at once, is spread over all banks, as a row of chunks is.
template <int kColumns>
__device__ inline unsigned swizzled(unsigned row, unsigned column) {
  constexpr int kChunks = kColumns / 8;                        // in a row
  constexpr int kRowsOfBanks = kChunks < 8 ? 8 / kChunks : 1;  // rows that fill the 32 banks once
  constexpr int kMask = kChunks < 8 ? kChunks - 1 : 7;
  static_assert(kColumns % 8 == 0 && (kChunks & (kChunks - 1)) == 0, "whole chunks, a power of two of them");
  return row * kColumns + ((column / 8) ^ (row / kRowsOfBanks & kMask)) * 8 + column % 8;
}

// A thread's share of copying kRows×kColumns tiles of a matrix into shared memory.
template <typename T, int kCopyBytes, int kRows, int kColumns>
class TileCopy {
 public:
  // `first`: the first number of the first tile.
  __device__ TileCopy(const T* first, int64_t leading)
      : leading_(leading),
        row_(threadIdx.x / kPerRow),
        column_(threadIdx.x % kPerRow * kWidth),
        from_(first + row_ * leading + column_) {}

  // The matrix has `rows` and `columns` from this tile on; the tile is 0 outside of it. The next tile begins
  // `step` numbers further.
  __device__ void copy(T* tile, int64_t rows, int64_t columns, int64_t step) {
    if (rows >= kRows && columns >= kColumns) {
      LATHE_UNROLL for (int i = 0; i < kCopies; ++i) copy_here<true>(tile, i, kWidth);
    } else {
      const int rows_left = rows < kRows ? int(rows) : kRows;
      const int columns_left = columns < kColumns ? int(columns) : kColumns;
      const int valid = max(0, min(columns_left - int(column_), kWidth));
      for (int i = 0; i < kCopies; ++i)
        copy_here<false>(tile, i, int(row_) + i * kRowStep < rows_left ? valid : 0);
    }
    from_ += step;
  }

 private:
  static constexpr int kWidth = kCopyBytes / int(sizeof(T)), kPerRow = kColumns / kWidth;
  static constexpr int kRowStep = kThreads / kPerRow, kCopies = kRows / kRowStep;
  static_assert(kThreads % kPerRow == 0 && kRows % kRowStep == 0, "every thread copies equally much");

  template <bool kAll>
  __device__ void copy_here(T* tile, int i, int valid) const {
    T* to = tile + swizzled<kColumns>(row_ + i * kRowStep, column_);
    const T* from = from_ + i * kRowStep * leading_;  // not read where nothing is valid
    if constexpr (kCopyBytes == 2) {
      *to = valid > 0 ? *from : T(0.0f);
    } else if constexpr (kAll) {
      cp_async<kCopyBytes>(to, from);
    } else {
      cp_async<kCopyBytes>(to, from, valid * int(sizeof(T)));
    }
  }

  int64_t leading_;
  unsigned row_, column_;
  const T* from_;
};

template <int bytes>
struct WordOf;
template <>
struct WordOf<16> {
  using Type = uint4;
};
template <>
struct WordOf<4> {
  using Type = uint32_t;
};
template <>
struct WordOf<2> {
  using Type = uint16_t;
};

template <typename T, int kCopyBytes>
__global__ void __launch_bounds__(kThreads, kCopyBytes == 2 ? 1 : 2)
    gemm_10_mma_pipelined(const T* __restrict__ A,     // [M,K]
                          const T* __restrict__ B,     // [K,N]
                          T* __restrict__ C,           // [M,N]
                          const T* __restrict__ bias,  // [N], or null
                          bool relu, int64_t lda, int64_t ldb, int64_t ldc, int64_t M, int64_t N, int64_t K) {
  LATHE_DYNAMIC_SHARED(T, shared);
  const unsigned thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  const int64_t first_m = int64_t(blockIdx.y) * kTileM, first_n = int64_t(blockIdx.x) * kTileN;
  const unsigned m = warp / (kTileN / kWarpN) * kWarpM,
                 n = warp % (kTileN / kWarpN) * kWarpN;  // of its 64×32
  const int64_t tiles = (K + kTileK - 1) / kTileK;

  TileCopy<T, kCopyBytes, kTileM, kTileK> copy_a(A + first_m * lda, lda);
  TileCopy<T, kCopyBytes, kTileK, kTileN> copy_b(B + first_n, ldb);
  // One group of copies a tile, empty behind the last, so that waits can count them.
  const auto fetch = [&](int64_t tile) {
    if (tile < tiles) {
      T* stage = shared + tile % kStages * kStage;
      copy_a.copy(stage, M - first_m, K - tile * kTileK, kTileK);
      copy_b.copy(stage + kTileM * kTileK, K - tile * kTileK, N - first_n, kTileK * ldb);
    }
    cp_async_commit();
  };

  float sum[kWarpM / kMmaM][kWarpN / kMmaN][4] = {};
  for (int tile = 0; tile < kStages - 1; ++tile) fetch(tile);
  for (int64_t tile = 0; tile < tiles; ++tile) {
    cp_async_wait<kStages - 2>();  // this tile is here …
    __syncthreads();               // … for all, and the stage of the one before is free
    fetch(tile + kStages - 1);
    const T* a_tile = shared + tile % kStages * kStage;
    const T* b_tile = a_tile + kTileM * kTileK;
    LATHE_UNROLL for (int k = 0; k < kTileK; k += kMmaK) {
      uint32_t a[kWarpM / kMmaM][4], b[kWarpN / kMmaN / 2][4];
      ldmatrix_x4(
          a, [&](int i) { return &a_tile[swizzled<kTileK>(m + i * kMmaM + lane % 16, k + lane / 16 * 8)]; });
      ldmatrix_x4_trans(b, [&](int j) {
        return &b_tile[swizzled<kTileN>(k + lane % 16, n + j * 2 * kMmaN + lane / 16 * 8)];
      });
      mma_m16n8k16<T>(sum, a, b);
    }
  }

  // Out of the registers, rounded, into shared memory; from there whole rows go to C.
  cp_async_wait_all();
  __syncthreads();
  LATHE_UNROLL for (int j = 0; j < kWarpN / kMmaN; ++j) {
    const unsigned column = n + j * kMmaN + lane % 4 * 2;
    float add[2] = {};
    LATHE_UNROLL for (int c = 0; c < 2; ++c) {
      if (bias != nullptr && first_n + column + c < N)
        add[c] = static_cast<float>(bias[first_n + column + c]);
    }
    LATHE_UNROLL for (int i = 0; i < kWarpM / kMmaM; ++i) {
      LATHE_UNROLL for (int half = 0; half < 2; ++half) {
        __align__(4) T pair[2];
        LATHE_UNROLL for (int c = 0; c < 2; ++c) {
          const float value = sum[i][j][half * 2 + c] + add[c];
          pair[c] = T(relu && value < 0.0f ? 0.0f : value);
        }
        const unsigned row = m + i * kMmaM + half * 8 + lane / 4;
        *reinterpret_cast<uint32_t*>(&shared[row * kPitchC + column]) = *reinterpret_cast<uint32_t*>(pair);
      }
    }
  }
  __syncthreads();
  using Word = typename WordOf<kCopyBytes>::Type;
  constexpr int kWidth = kCopyBytes / int(sizeof(T)), kPerRow = kTileN / kWidth;
  for (unsigned at = thread; at < kTileM * kPerRow; at += kThreads) {
    const unsigned row = at / kPerRow, column = at % kPerRow * kWidth;
    const int64_t c_m = first_m + row, c_n = first_n + column;
    if (c_m >= M) break;
    const T* from = &shared[row * kPitchC + column];
    T* to = C + c_m * ldc + c_n;
    if (c_n + kWidth <= N) {
      *reinterpret_cast<Word*>(to) = *reinterpret_cast<const Word*>(from);
    } else {
      for (int i = 0; c_n + i < N; ++i) to[i] = from[i];
    }
  }
}

// The largest copy that every row of A, B and C allows.
template <typename T>
int copy_bytes(const Gemm<T>& p) {
  const auto bits = reinterpret_cast<uintptr_t>(p.A) | reinterpret_cast<uintptr_t>(p.B) |
                    reinterpret_cast<uintptr_t>(p.C) |
                    static_cast<uintptr_t>(p.lda | p.ldb | p.ldc) * sizeof(T);
  return bits % 16 == 0 ? 16 : bits % 4 == 0 ? 4 : 2;
}

template <typename T, int kCopyBytes>
void launch_pipelined(const Gemm<T>& p, cudaStream_t stream) {
  static_assert(sizeof(T) == 2);
  launch<gemm_10_mma_pipelined<T, kCopyBytes>>(tile_grid(p, kTileM, kTileN, "gemm_mma_pipelined"), kThreads,
                                               kSharedBytes, stream, p.A, p.B, p.C, p.bias, p.relu, p.lda,
                                               p.ldb, p.ldc, p.M, p.N, p.K);
}

template <typename T>
void run(const Gemm<T>& p, cudaStream_t stream) {
  require_tensor_cores<T>("gemm_mma_pipelined");
  switch (copy_bytes(p)) {
    case 16:
      return launch_pipelined<T, 16>(p, stream);
    case 4:
      return launch_pipelined<T, 4>(p, stream);
    default:
      return launch_pipelined<T, 2>(p, stream);
  }
}

}  // namespace

void gemm_mma_pipelined(const Gemm<__half>& problem, cudaStream_t stream) { run(problem, stream); }
void gemm_mma_pipelined(const Gemm<__nv_bfloat16>& problem, cudaStream_t stream) { run(problem, stream); }

}  // namespace lathe::kernels
