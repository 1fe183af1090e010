// The sum over a block of kSumThreads threads: each warp by shuffles, then one warp the warps' sums.
#pragma once

#include <cuda_runtime.h>

namespace lathe::kernels {

constexpr int kSumThreads = 256, kSumWarps = kSumThreads / 32;
static_assert(kSumWarps <= 32 && (kSumWarps & (kSumWarps - 1)) == 0, "one warp adds the warps' sums");

// In lane 0: the sum over `lanes` lanes.
template <int lanes>
__device__ double warp_sum(double value) {
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, distance);
  }
  return value;
}

// In thread 0: the sum over the block.
__device__ inline double block_sum(double value) {
  __shared__ double part[kSumWarps];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  value = warp_sum<32>(value);
  if (lane == 0) part[warp] = value;
  __syncthreads();
  return warp_sum<kSumWarps>(lane < kSumWarps ? part[lane] : 0);
}

}  // namespace lathe::kernels
