// Reduction, rung 5: two passes of wide loads.  result[1] = Σ f(x[n]), added in fp64.
//
// Idea.        As many blocks as fill a GPU walk through x, four floats a load, and leave so few sums that
//              one more block ends it: two launches for any n. A thread adds many elements, so it does that
//              in fp64, which costs nothing where memory is what a thread waits for.
// Bytes.       4 an element from global memory, 512 for each request of a warp.
// Operations.  1 an element (2 for squares), in fp64.
// Bound.       Memory bandwidth.
//
// x is read 16 bytes at a time where it begins at a multiple of them, else float by float in the same order:
// the result depends on the values alone.
#include "kernels/reduce/passes.cuh"

namespace lathe::kernels {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kLoads = 4;  // of four floats that a thread makes at least, where there are so many
constexpr int kMaxBlocks = 1024;
static_assert(kWarps <= 32 && (kWarps & (kWarps - 1)) == 0, "one warp adds the warps' sums");

// In lane 0: the sum over `lanes` lanes.
template <int lanes>
__device__ double warp_sum(double value) {
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, distance);
  }
  return value;
}

// In thread 0: the sum over the block.
__device__ double block_sum(double value) {
  __shared__ double part[kWarps];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  value = warp_sum<32>(value);
  if (lane == 0) part[warp] = value;
  __syncthreads();
  return warp_sum<kWarps>(lane < kWarps ? part[lane] : 0);
}

template <ReduceKind kind, bool kWide>
__global__ void __launch_bounds__(kThreads) reduce_05_vectorised(const float* __restrict__ x,  // [n]
                                                                 int64_t n,
                                                                 double* __restrict__ sums) {  // [blocks]
  double sum = 0;
  const int64_t step = int64_t(gridDim.x) * kThreads * 4;
  for (int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) * 4; i < n; i += step) {
    if (kWide && i + 4 <= n) {
      const float4 four = *reinterpret_cast<const float4*>(x + i);
      sum += term<kind>(double(four.x));
      sum += term<kind>(double(four.y));
      sum += term<kind>(double(four.z));
      sum += term<kind>(double(four.w));
    } else {
      for (int64_t j = i; j < i + 4 && j < n; ++j) sum += term<kind>(double(x[j]));
    }
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads) reduce_05_last_pass(const double* __restrict__ sums,  // [blocks]
                                                                int blocks,
                                                                float* __restrict__ result) {  // [1]
  double sum = 0;
  for (int i = threadIdx.x; i < blocks; i += kThreads) sum += sums[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *result = static_cast<float>(sum);
}

}  // namespace

void reduce_vectorised(const Reduce& p, cudaStream_t stream) {
  double* sums = static_cast<double*>(p.workspace);
  const unsigned int blocks = min(blocks_for(p.n, kThreads * kLoads * 4), unsigned(kMaxBlocks));
  const bool wide = reinterpret_cast<uintptr_t>(p.x) % sizeof(float4) == 0;
  with_kind(p.kind, [&](auto kind) {
    if (wide) {
      launch<reduce_05_vectorised<kind(), true>>(blocks, kThreads, 0, stream, p.x, p.n, sums);
    } else {
      launch<reduce_05_vectorised<kind(), false>>(blocks, kThreads, 0, stream, p.x, p.n, sums);
    }
  });
  launch<reduce_05_last_pass>(1, kThreads, 0, stream, sums, int(blocks), p.result);
}

}  // namespace lathe::kernels
