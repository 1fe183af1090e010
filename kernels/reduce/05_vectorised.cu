// Reduction, rung 5: two passes of wide loads.  result[1] = Σ f(x[n]), added in fp64.
//
// Idea.        As many blocks as fill a GPU walk through x, four floats a load, and leave so few sums that
//              one more block ends it: two launches for any n. A thread adds many elements, so it does that
//              in fp64, which costs nothing where memory is what a thread waits for.
// Bytes.       4 an element from global memory, 512 for each request of a warp.
// Operations.  1 an element (2 for squares), in fp64.
// Bound.       Memory bandwidth.
// Instructions. LDG.E.128; SHFL.
//
// x is read 16 bytes at a time where it begins at a multiple of them, else float by float in the same order:
// the result depends on the values alone.
#include "kernels/reduce/block_sum.cuh"
#include "kernels/reduce/passes.cuh"

namespace lathe::kernels {
namespace {

constexpr int kThreads = kSumThreads;
constexpr int kLoads = 4;  // of four floats that a thread makes at least, where there are so many
constexpr int kMaxBlocks = 1024;

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

int64_t reduce_partial_count(int64_t n) {
  return min(blocks_for(n, kThreads * kLoads * 4), unsigned(kMaxBlocks));
}

void reduce_to_partials(const float* x, int64_t n, ReduceKind kind, double* sums, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(reduce_partial_count(n));
  const bool wide = reinterpret_cast<uintptr_t>(x) % sizeof(float4) == 0;
  with_kind(kind, [&](auto known) {
    if (wide) {
      launch<reduce_05_vectorised<known(), true>>(blocks, kThreads, 0, stream, x, n, sums);
    } else {
      launch<reduce_05_vectorised<known(), false>>(blocks, kThreads, 0, stream, x, n, sums);
    }
  });
}

void reduce_vectorised(const Reduce& p, cudaStream_t stream) {
  double* sums = static_cast<double*>(p.workspace);
  reduce_to_partials(p.x, p.n, p.kind, sums, stream);
  launch<reduce_05_last_pass>(1, kThreads, 0, stream, sums, int(reduce_partial_count(p.n)), p.result);
}

}  // namespace lathe::kernels
