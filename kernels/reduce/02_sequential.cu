// Reduction, rung 2: the tree folded in the middle.  result[1] = Σ f(x[n]), fp32.
//
// Idea.        Rung 1 with another order of additions: in each round the first half of the threads that are
//              left adds the second half's parts. The working threads are neighbours, and whole warps rest.
// Bytes.       4 an element from global memory, and 4 for each block's sum.
// Operations.  1 an element (2 for squares).
// Bound.       Barriers: 8 rounds for one load a thread, and the last 5 are of a single warp.
#include "kernels/reduce/passes.cuh"

namespace lathe::kernels {
namespace {

constexpr int kThreads = 256;
static_assert((kThreads & (kThreads - 1)) == 0, "the tree halves the threads");

template <ReduceKind kind>
__global__ void __launch_bounds__(kThreads) reduce_02_sequential(const float* __restrict__ x,  // [n]
                                                                 int64_t n,
                                                                 float* __restrict__ sums) {  // [blocks]
  __shared__ float part[kThreads];
  const int thread = threadIdx.x;
  const int64_t i = int64_t(blockIdx.x) * kThreads + thread;
  part[thread] = i < n ? term<kind>(x[i]) : 0;
  __syncthreads();
  for (int distance = kThreads / 2; distance > 0; distance /= 2) {
    if (thread < distance) part[thread] += part[thread + distance];
    __syncthreads();
  }
  if (thread == 0) sums[blockIdx.x] = part[0];
}

}  // namespace

void reduce_sequential(const Reduce& p, cudaStream_t stream) {
  reduce_in_passes(p, kThreads, [&](auto kind, unsigned int blocks, const float* x, int64_t n, float* sums) {
    launch<reduce_02_sequential<kind()>>(blocks, kThreads, 0, stream, x, n, sums);
  });
}

}  // namespace lathe::kernels
