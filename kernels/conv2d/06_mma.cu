// Convolution, rung 6: a pipeline into tensor cores.  y = max(0, conv(x, w) + bias), NHWC, fp16 or bf16, added
// in fp32.
//
// Idea.        Rung 3 with the means of GEMM's rung 10: cp.async brings three tiles of windows and filters
//              ahead into shared memory, writing zeros for the padding by itself, while ldmatrix and mma.sync
//              multiply a fourth. Bias and max(0, ·) are applied before the sums leave the registers, so
//              that y is written once and not read again.
// Bytes.       2·C/groups·kernel_h·kernel_w·(1/128 + 1/64) an output from the caches; from memory x, w and y
//              little more than once each.
// Operations.  2·C/groups·kernel_h·kernel_w an output, 4096 an instruction.
// Bound.       Issuing instructions: for 32 mma a warp executes 220 others, most of them to find where its
//              windows lie. On sm_80 that takes as long as the mma themselves, later tensor cores outrun it.
//              For the few channels of a first layer memory.
// Instructions. HMMA; LDSM; LDGSTS from sm_80.
//
// Copies are of 16 bytes where C/groups is a multiple of 8 and x and w begin at a multiple of 16 bytes, else
// number by number without cp.async: pad the 3 channels of a picture to 8. How a tile is made stands in
// mma_tile.cuh. Before sm_80 copies are ordinary loads and stores, and for bf16 the launcher throws.
#include "kernels/conv2d/mma_tile.cuh"

namespace lathe::kernels {
namespace {

template <typename T, bool kWide>
__global__ void __launch_bounds__(kThreads)
    conv2d_06_mma(const T* __restrict__ x,     // [N,H,W,C]
                  const T* __restrict__ w,     // [O,kernel_h,kernel_w,C/groups]
                  const T* __restrict__ bias,  // [O], or null
                  T* __restrict__ y,           // [N,OH,OW,O]
                  bool relu, bool wide_y, ConvShape s) {
  if constexpr (kTensorCoresTake<T>) {  // nothing for an architecture without
    LATHE_DYNAMIC_SHARED(T, shared);
    const auto [first_m, first_o, group] = tile_of_grid(s);
    make_tile<kWide>(
        s, x, w, bias, relu, group, first_o,
        [&, first_m = first_m](int m) { return pixel_at(s, first_m + m, s.OH, s.OW); }, shared);

    for (int at = threadIdx.x * kChunk; at < kTileM * kTileN; at += kThreads * kChunk) {
      const int row = at / kTileN, column = at % kTileN;
      const int64_t pixel = first_m + row;
      if (pixel >= s.N * s.OH * s.OW) break;
      T* to = y + pixel * s.O + group * s.group_outputs() + first_o + column;
      store8(to, &shared[row * kPitchY + column], s.group_outputs() - first_o - column, wide_y);
    }
  }
}

template <typename T>
void run(const Conv2d<T>& p, cudaStream_t stream) {
  require(p.layout == ConvLayout::nhwc, "conv2d_mma", p, "nhwc");
  require_tensor_cores<T>("conv2d_mma");
  const ConvShape& s = p.shape;
  const dim3 grid = grid_of_tiles(s, s.N * s.OH * s.OW);
  if (wide_inputs(p)) {
    launch<conv2d_06_mma<T, true>>(grid, kThreads, kSharedBytes, stream, p.x, p.w, p.bias, p.y, p.relu,
                                   wide_outputs(p), s);
  } else {
    launch<conv2d_06_mma<T, false>>(grid, kThreads, kSharedBytes, stream, p.x, p.w, p.bias, p.y, p.relu,
                                    wide_outputs(p), s);
  }
}

}  // namespace

void conv2d_mma(const Conv2d<__half>& problem, cudaStream_t stream) { run(problem, stream); }
void conv2d_mma(const Conv2d<__nv_bfloat16>& problem, cudaStream_t stream) { run(problem, stream); }

}  // namespace lathe::kernels
