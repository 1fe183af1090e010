// Reduction, rung 4: lanes read each other's registers.  result[1] = Σ f(x[n]), fp32.
//
// Idea.        Most of the tree needs no shared memory: the 32 lanes of a warp add up by shuffles. Only the 8
//              sums of the warps are passed through it, with the one barrier that is left.
// Bytes.       4 an element from global memory, and 4 for each block's sum; 32 of shared memory a block.
// Operations.  1 an element (2 for squares).
// Bound.       Memory bandwidth, but for the passes: each waits for the whole of the one before.
// Instructions. SHFL.
#include "kernels/reduce/passes.cuh"

namespace lathe::kernels {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kLoads = 8;  // elements that a thread adds before the tree
static_assert(kWarps <= 32 && (kWarps & (kWarps - 1)) == 0, "one warp adds the warps' sums");

// In lane 0: the sum over `lanes` lanes.
template <int lanes>
__device__ float warp_sum(float value) {
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, distance);
  }
  return value;
}

template <ReduceKind kind>
__global__ void __launch_bounds__(kThreads) reduce_04_warp_shuffle(const float* __restrict__ x,  // [n]
                                                                   int64_t n,
                                                                   float* __restrict__ sums) {  // [blocks]
  __shared__ float part[kWarps];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64_t first = int64_t(blockIdx.x) * kThreads * kLoads + threadIdx.x;
  float sum = 0;
  for (int load = 0; load < kLoads; ++load) {
    const int64_t i = first + load * kThreads;
    sum += i < n ? term<kind>(x[i]) : 0;
  }
  sum = warp_sum<32>(sum);
  if (lane == 0) part[warp] = sum;
  __syncthreads();
  if (warp > 0) return;
  sum = warp_sum<kWarps>(lane < kWarps ? part[lane] : 0);
  if (lane == 0) sums[blockIdx.x] = sum;
}

}  // namespace

void reduce_warp_shuffle(const Reduce& p, cudaStream_t stream) {
  reduce_in_passes(p, kThreads * kLoads,
                   [&](auto kind, unsigned int blocks, const float* x, int64_t n, float* sums) {
                     launch<reduce_04_warp_shuffle<kind()>>(blocks, kThreads, 0, stream, x, n, sums);
                   });
}

}  // namespace lathe::kernels
