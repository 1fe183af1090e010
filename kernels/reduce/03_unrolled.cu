// Reduction, rung 3: more work before the tree, no barrier at its end.  result[1] = Σ f(x[n]), fp32.
//
// Idea.        A thread adds 8 elements on their way in, a block apart, so that the tree is paid for once in
//              8 times as many elements. When one warp is left, it needs no barrier of the block any more.
// Bytes.       4 an element from global memory, and 4 for each block's sum.
// Operations.  1 an element (2 for squares).
// Bound.       Memory bandwidth comes near: 8 loads are under way at once, for 3 barriers and 5 rounds of a
//              warp.
#include "kernels/reduce/passes.cuh"

namespace lathe::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kLoads = 8;  // elements that a thread adds before the tree
static_assert((kThreads & (kThreads - 1)) == 0 && kThreads >= 64,
              "the tree halves the threads down to a warp");

template <ReduceKind kind>
__global__ void __launch_bounds__(kThreads) reduce_03_unrolled(const float* __restrict__ x,  // [n]
                                                               int64_t n,
                                                               float* __restrict__ sums) {  // [blocks]
  __shared__ float part[kThreads];
  const int thread = threadIdx.x;
  const int64_t first = int64_t(blockIdx.x) * kThreads * kLoads + thread;
  float sum = 0;
  for (int load = 0; load < kLoads; ++load) {
    const int64_t i = first + load * kThreads;
    sum += i < n ? term<kind>(x[i]) : 0;
  }
  part[thread] = sum;
  __syncthreads();
  for (int distance = kThreads / 2; distance >= 32; distance /= 2) {
    if (thread < distance) part[thread] += part[thread + distance];
    __syncthreads();
  }
  if (thread >= 32) return;
  for (int distance = 16; distance > 0; distance /= 2) {
    if (thread < distance) part[thread] += part[thread + distance];
    __syncwarp();  // since sm_70 the lanes of a warp need not march in step
  }
  if (thread == 0) sums[blockIdx.x] = part[0];
}

}  // namespace

void reduce_unrolled(const Reduce& p, cudaStream_t stream) {
  reduce_in_passes(p, kThreads * kLoads,
                   [&](auto kind, unsigned int blocks, const float* x, int64_t n, float* sums) {
                     launch<reduce_03_unrolled<kind()>>(blocks, kThreads, 0, stream, x, n, sums);
                   });
}

}  // namespace lathe::kernels
