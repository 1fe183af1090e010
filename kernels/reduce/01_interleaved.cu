// Reduction, rung 1: a tree in shared memory, neighbours first.  result[1] = Σ f(x[n]), fp32.
//
// Idea.        A thread brings one element into shared memory. In round 1 every second thread adds its
//              neighbour's, in round 2 every fourth adds that of the thread two further, and so on.
// Bytes.       4 an element from global memory, and 4 for each block's sum.
// Operations.  1 an element (2 for squares).
// Bound.       Instructions: 8 rounds for one load a thread, each with a barrier and a remainder, and most
//              warps go through them with few of their lanes at work.
#include "kernels/reduce/passes.cuh"

namespace lathe::kernels {
namespace {

constexpr int kThreads = 256;
static_assert((kThreads & (kThreads - 1)) == 0, "the tree halves the threads");

template <ReduceKind kind>
__global__ void __launch_bounds__(kThreads) reduce_01_interleaved(const float* __restrict__ x,  // [n]
                                                                  int64_t n,
                                                                  float* __restrict__ sums) {  // [blocks]
  __shared__ float part[kThreads];
  const int thread = threadIdx.x;
  const int64_t i = int64_t(blockIdx.x) * kThreads + thread;
  part[thread] = i < n ? term<kind>(x[i]) : 0;
  __syncthreads();
  for (int distance = 1; distance < kThreads; distance *= 2) {
    if (thread % (2 * distance) == 0) part[thread] += part[thread + distance];
    __syncthreads();
  }
  if (thread == 0) sums[blockIdx.x] = part[0];
}

}  // namespace

void reduce_interleaved(const Reduce& p, cudaStream_t stream) {
  reduce_in_passes(p, kThreads, [&](auto kind, unsigned int blocks, const float* x, int64_t n, float* sums) {
    launch<reduce_01_interleaved<kind()>>(blocks, kThreads, 0, stream, x, n, sums);
  });
}

}  // namespace lathe::kernels
