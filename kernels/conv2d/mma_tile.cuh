// The implicit GEMM on tensor cores that rungs 6 and 7 share: a block makes a tile of 128 output pixels × 64
// channels of y, NHWC, and leaves it, rounded, in shared memory. Which 128 pixels, and what becomes of them,
// stands in the rungs.
//
// The product is A [pixel, k] · B [channel, k]ᵀ, k running over kernel_h, kernel_w and C/groups, which is how
// filters lie in memory: 8 neighbouring k of both are 16 bytes of memory, wherever C/groups is a multiple
// of 8.
#pragma once

#include "hostcuda/portable/async_copy.h"
#include "hostcuda/portable/tensor_core.h"
#include "kernels/conv2d/implicit_gemm.cuh"
#include "kernels/conv2d/requirements.h"
#include "kernels/gemm/tensor_cores.h"
#include "kernels/vector.h"

namespace lathe::kernels {

constexpr int kTileM = 128, kTileN = 64;  // pixels and channels that a block makes
constexpr int kTileK = 32;                // k of one tile of A and B
constexpr int kStages = 4;                // tiles of each in shared memory
constexpr int kWarpM = 64, kWarpN = 32;   // pixels and channels that a warp makes
constexpr int kMmaM = 16, kMmaN = 8, kMmaK = 16;
constexpr int kThreads = (kTileM / kWarpM) * (kTileN / kWarpN) * 32;
constexpr int kChunk = 8;                               // numbers of 16 bits in 16 bytes
constexpr int kRowStep = kThreads / (kTileK / kChunk);  // rows that the block copies at once
constexpr int kStage = (kTileM + kTileN) * kTileK;      // numbers in a stage: A's tile, then B's
constexpr int kPitchY = kTileN + 8;                     // 8 rows of the finished tile lie in all 32 banks
constexpr int kSharedBytes = kStages * kStage * 2;
static_assert(kTileM % kWarpM == 0 && kTileN % kWarpN == 0, "warps cover the block's tile");
static_assert(kWarpM % kMmaM == 0 && kTileK % kMmaK == 0, "mmas cover the warp's tile");
static_assert(kWarpN % (2 * kMmaN) == 0, "ldmatrix_x4 fetches two mmas' columns of B");
static_assert(kTileM % kRowStep == 0 && kTileN % kRowStep == 0, "every thread copies equally much");
static_assert(kStages >= 3, "one tile is multiplied, one has arrived, others are on their way");
static_assert(kTileM * kPitchY <= kStages * kStage, "the finished tile fits where the stages were");
static_assert(kSharedBytes <= 64 * 1024, "what sm_75 has");

// Where number (row, column) of a tile lies. Chunks of a row change places, so that 8 rows of one column of
// chunks, which ldmatrix reads at once, lie in all 32 banks.
__device__ inline int swizzled(int row, int column) {
  static_assert(kTileK == 4 * kChunk, "two rows fill the banks once");
  return row * kTileK + (column / kChunk ^ row / 2 % 4) * kChunk + column % kChunk;
}

// A thread's share of copying A's tiles: 8 neighbouring k of some pixels. What lies in a filter is counted in
// 32 bits: dividing costs a third of what it costs in 64.
template <typename T, bool kWide>
class WindowCopy {
 public:
  // pixel_of(m): the output pixel of row m of the tile.
  template <typename PixelOf>
  __device__ WindowCopy(const ConvShape& s, const T* x, int64_t group, PixelOf pixel_of)
      : s_(s), x_(x), channels_(static_cast<int>(s.group_inputs())) {
    const int row = threadIdx.x / (kTileK / kChunk);
    LATHE_UNROLL for (int i = 0; i < kCopies; ++i) {
      const Pixel pixel = pixel_of(row + i * kRowStep);
      const int h = static_cast<int>(pixel.row * s.stride_h - s.padding_h),
                v = static_cast<int>(pixel.column * s.stride_w - s.padding_w);
      corner_[i] = {((pixel.sample * s.H + h) * s.W + v) * s.C + group * channels_,
                    pixel.inside ? h : kOutside, v};
    }
  }

  __device__ void copy(T* tile, int first_k) const {
    constexpr int kWidth = kWide ? kChunk : 1;
    const int row = threadIdx.x / (kTileK / kChunk), column = threadIdx.x % (kTileK / kChunk) * kChunk;
    for (int e = 0; e < kChunk; e += kWidth) {
      const Tap tap = tap_at<ConvLayout::nhwc>(s_, first_k + column + e, channels_);
      const int64_t step = (tap.row * s_.W + tap.column) * s_.C + tap.channel;
      LATHE_UNROLL for (int i = 0; i < kCopies; ++i) {
        const Corner& corner = corner_[i];
        const bool inside =
            tap.inside && within(corner.row + tap.row, s_.H) && within(corner.column + tap.column, s_.W);
        const T* from = inside ? x_ + (corner.offset + step) : x_;
        T* to = tile + swizzled(row + i * kRowStep, column + e);
        if constexpr (kWide) {
          cp_async<16>(to, from, inside ? 16 : 0);
        } else {
          *to = inside ? *from : T(0.0f);
        }
      }
    }
  }

 private:
  static constexpr int kCopies = kTileM / kRowStep;
  static constexpr int kOutside = -(1 << 30);  // a row that no tap brings into the picture
  struct Corner {                              // of a window; may lie in the padding
    int64_t offset;                            // in x
    int row, column;
  };
  __device__ static bool within(int at, int64_t extent) {
    return static_cast<unsigned>(at) < static_cast<unsigned>(extent);
  }
  const ConvShape& s_;
  const T* x_;
  int channels_;
  Corner corner_[kCopies];
};

// The same for B's tiles: 8 neighbouring k of some filters.
template <typename T, bool kWide>
class FilterCopy {
 public:
  __device__ FilterCopy(const ConvShape& s, const T* w, int64_t group, int64_t first_o)
      : w_(w), size_(static_cast<int>(s.filter_size())) {
    LATHE_UNROLL for (int i = 0; i < kCopies; ++i) {
      const int64_t o = first_o + threadIdx.x / (kTileK / kChunk) + i * kRowStep;
      filter_[i] = o < s.group_outputs() ? w + (group * s.group_outputs() + o) * size_ : nullptr;
    }
  }

  __device__ void copy(T* tile, int first_k) const {
    const int row = threadIdx.x / (kTileK / kChunk), column = threadIdx.x % (kTileK / kChunk) * kChunk;
    const int k = first_k + column;
    LATHE_UNROLL for (int i = 0; i < kCopies; ++i) {
      const int left = filter_[i] != nullptr ? size_ - k : 0;  // numbers of the filter from k on
      T* to = tile + swizzled(row + i * kRowStep, column);
      if constexpr (kWide) {
        cp_async<16>(to, left > 0 ? filter_[i] + k : w_, left > 0 ? 16 : 0);
      } else {
        for (int e = 0; e < kChunk; ++e) to[e] = e < left ? filter_[i][k + e] : T(0.0f);
      }
    }
  }

 private:
  static constexpr int kCopies = kTileN / kRowStep;
  const T* w_;
  int size_;
  const T* filter_[kCopies];
};

// All threads of the block: y[m][o] = max(0, conv + bias) of the tile's pixels and channels, kPitchY apart, at
// the begin of `shared`.
template <bool kWide, typename T, typename PixelOf>
__device__ inline void make_tile(const ConvShape& s, const T* x, const T* w, const T* bias, bool relu,
                                 int64_t group, int64_t first_o, PixelOf pixel_of, T* shared) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int m = warp / (kTileN / kWarpN) * kWarpM, n = warp % (kTileN / kWarpN) * kWarpN;  // of its 64×32
  const int tiles = static_cast<int>((s.filter_size() + kTileK - 1) / kTileK);

  const WindowCopy<T, kWide> windows(s, x, group, pixel_of);
  const FilterCopy<T, kWide> filters(s, w, group, first_o);
  // One group of copies a tile, empty behind the last, so that waits can count them.
  const auto fetch = [&](int tile) {
    if (tile < tiles) {
      T* stage = shared + tile % kStages * kStage;
      windows.copy(stage, tile * kTileK);
      filters.copy(stage + kTileM * kTileK, tile * kTileK);
    }
    cp_async_commit();
  };

  float sum[kWarpM / kMmaM][kWarpN / kMmaN][4] = {};
  for (int tile = 0; tile < kStages - 1; ++tile) fetch(tile);
  for (int tile = 0; tile < tiles; ++tile) {
    cp_async_wait<kStages - 2>();  // this tile is here …
    __syncthreads();               // … for all, and the stage of the one before is free
    fetch(tile + kStages - 1);
    const T* a_tile = shared + tile % kStages * kStage;
    const T* b_tile = a_tile + kTileM * kTileK;
    LATHE_UNROLL for (int k = 0; k < kTileK; k += kMmaK) {
      uint32_t a[kWarpM / kMmaM][4], b[kWarpN / kMmaN / 2][4];
      ldmatrix_x4(a, [&](int i) { return &a_tile[swizzled(m + i * kMmaM + lane % 16, k + lane / 16 * 8)]; });
      ldmatrix_x4(b, [&](int j) {  // B lies as [n][k]: what is a row of it in memory is a column for mma
        return &b_tile[swizzled(n + j * 2 * kMmaN + lane / 16 * 8 + lane % 8, k + lane / 8 % 2 * 8)];
      });
      mma_m16n8k16<T>(sum, a, b);
    }
  }

  cp_async_wait_all();
  __syncthreads();  // nobody multiplies any more
  LATHE_UNROLL for (int j = 0; j < kWarpN / kMmaN; ++j) {
    const int column = n + j * kMmaN + lane % 4 * 2;
    float add[2] = {};
    LATHE_UNROLL for (int c = 0; c < 2; ++c) {
      const int64_t o = first_o + column + c;
      if (bias != nullptr && o < s.group_outputs())
        add[c] = static_cast<float>(bias[group * s.group_outputs() + o]);
    }
    LATHE_UNROLL for (int i = 0; i < kWarpM / kMmaM; ++i) {
      LATHE_UNROLL for (int half = 0; half < 2; ++half) {
        __align__(4) T pair[2];
        LATHE_UNROLL for (int c = 0; c < 2; ++c) {
          const float value = sum[i][j][half * 2 + c] + add[c];
          pair[c] = T(relu && value < 0 ? 0.0f : value);  // NaN stays
        }
        const int row = m + i * kMmaM + half * 8 + lane / 4;
        *reinterpret_cast<uint32_t*>(&shared[row * kPitchY + column]) = *reinterpret_cast<uint32_t*>(pair);
      }
    }
  }
  __syncthreads();
}

// to[0 … 7] = values, at most `count` of them; wide: in one store. `values` is a multiple of 16 bytes.
template <typename T>
__device__ inline void store8(T* to, const T* values, int64_t count, bool wide) {
  if (wide && count >= kChunk) {
    *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(values);
    return;
  }
  for (int e = 0; e < kChunk; ++e)
    if (e < count) to[e] = values[e];
}

// A block's share of the grid: neighbours in it share their pixels.
struct TileOfGrid {
  int64_t first_m, first_o, group;
};
__device__ inline TileOfGrid tile_of_grid(const ConvShape& s) {
  const int64_t tiles_n = (s.group_outputs() + kTileN - 1) / kTileN;
  return {blockIdx.x / (tiles_n * s.groups) * kTileM, blockIdx.x % tiles_n * kTileN,
          blockIdx.x / tiles_n % s.groups};
}
inline dim3 grid_of_tiles(const ConvShape& s, int64_t M) {
  return dim3(blocks_for(M, kTileM) * blocks_for(s.group_outputs(), kTileN) *
              static_cast<unsigned>(s.groups));
}

// Whether windows and filters, or the channels of y, are copied 16 bytes at a time.
template <typename T>
bool wide_inputs(const Conv2d<T>& p) {
  return p.shape.group_inputs() % kChunk == 0 && aligned_to(16, p.x, p.w);
}
template <typename T>
bool wide_outputs(const Conv2d<T>& p) {
  return p.shape.group_outputs() % kChunk == 0 && aligned_to(16, p.y);
}

}  // namespace lathe::kernels
