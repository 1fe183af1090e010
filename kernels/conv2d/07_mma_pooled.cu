// Convolution, rung 7: with 2×2 max pooling fused.  y = max over 2×2 of max(0, conv(x, w) + bias), NHWC, fp16
// or bf16, added in fp32.
//
// Idea.        Rung 6 with the rows of a tile in another order: four neighbouring rows are the 2×2 pixels of
//              one pooling window. So every window lies in one block, which keeps their maximum and writes
//              a quarter of y.
// Bytes.       As rung 6 from the caches; 1/2 byte written for each convolution output instead of 2 written,
//              2 read by the pooling and 1/2 written by it.
// Operations.  2·C/groups·kernel_h·kernel_w an output of the convolution, and 3 comparisons a window.
// Bound.       As rung 6. It pays most where channels are few and pictures large: behind a first
//              layer of 3 channels, where libraries do not offer this fusion.
// Instructions. HMMA; LDSM; LDGSTS from sm_80.
//
// Windows do not overlap; a last row or column of odd sizes is left out, as pooling without padding does. The
// position of the maximum, which training needs, is not kept. Copies and devices are those of rung 6.
#include "kernels/conv2d/mma_tile.cuh"
#include "kernels/pool/ladder.h"

namespace lathe::kernels {
namespace {

static_assert(kTileM % 4 == 0, "windows do not leave a tile");

// The output pixel of row m: pixel m % 4 of the window m / 4.
__device__ inline Pixel pooled_pixel_at(const ConvShape& s, int64_t m) {
  const Pixel window = pixel_at(s, m / 4, s.OH / 2, s.OW / 2);
  const int in_window = static_cast<int>(m % 4);
  return {window.sample, window.row * 2 + in_window / 2, window.column * 2 + in_window % 2, window.inside};
}

template <typename T, bool kWide>
__global__ void __launch_bounds__(kThreads)
    conv2d_07_mma_pooled(const T* __restrict__ x,     // [N,H,W,C]
                         const T* __restrict__ w,     // [O,kernel_h,kernel_w,C/groups]
                         const T* __restrict__ bias,  // [O], or null
                         T* __restrict__ y,           // [N,OH/2,OW/2,O]
                         bool relu, bool wide_y, ConvShape s) {
  if constexpr (kTensorCoresTake<T>) {  // nothing for an architecture without
    LATHE_DYNAMIC_SHARED(T, shared);
    const auto [first_m, first_o, group] = tile_of_grid(s);
    make_tile<kWide>(
        s, x, w, bias, relu, group, first_o,
        [&, first_m = first_m](int m) { return pooled_pixel_at(s, first_m + m); }, shared);

    for (int at = threadIdx.x * kChunk; at < kTileM / 4 * kTileN; at += kThreads * kChunk) {
      const int row = at / kTileN * 4, column = at % kTileN;
      const int64_t window = (first_m + row) / 4;
      if (window >= s.N * (s.OH / 2) * (s.OW / 2)) break;
      const auto pixel_of_window = [&](int i) {
        return *reinterpret_cast<const Vector<T>*>(&shared[(row + i) * kPitchY + column]);
      };
      Vector<T> best = pixel_of_window(0);
      LATHE_UNROLL for (int i = 1; i < 4; ++i) {
        const Vector<T> candidate = pixel_of_window(i);
        LATHE_UNROLL for (int e = 0; e < kChunk; ++e) {
          if (replaces(static_cast<float>(candidate.at[e]), static_cast<float>(best.at[e])))
            best.at[e] = candidate.at[e];
        }
      }
      T* to = y + window * s.O + group * s.group_outputs() + first_o + column;
      store8(to, best.at, s.group_outputs() - first_o - column, wide_y);
    }
  }
}

template <typename T>
void run(const Conv2d<T>& p, cudaStream_t stream) {
  require(p.layout == ConvLayout::nhwc && p.shape.OH >= 2 && p.shape.OW >= 2, "conv2d_mma_pooled", p,
          "nhwc with OH and OW of 2 and more");
  require_tensor_cores<T>("conv2d_mma_pooled");
  const ConvShape& s = p.shape;
  const dim3 grid = grid_of_tiles(s, s.N * (s.OH / 2) * (s.OW / 2) * 4);
  if (wide_inputs(p)) {
    launch<conv2d_07_mma_pooled<T, true>>(grid, kThreads, kSharedBytes, stream, p.x, p.w, p.bias, p.y, p.relu,
                                          wide_outputs(p), s);
  } else {
    launch<conv2d_07_mma_pooled<T, false>>(grid, kThreads, kSharedBytes, stream, p.x, p.w, p.bias, p.y,
                                           p.relu, wide_outputs(p), s);
  }
}

}  // namespace

void conv2d_mma_pooled(const Conv2d<__half>& problem, cudaStream_t stream) { run(problem, stream); }
void conv2d_mma_pooled(const Conv2d<__nv_bfloat16>& problem, cudaStream_t stream) { run(problem, stream); }

}  // namespace lathe::kernels
