// Gradients summed over batches:  total[n] += x[n].
//
// Idea.   One thread an element.
// Bytes.  8 read and 4 written an element; one operation.
// Bound.  Memory bandwidth.
#include "hostcuda/portable/launch.h"
#include "kernels/optimizer/optimizer.h"

namespace lathe::kernels {
namespace {

__global__ void accumulate_step(float* total, const float* x, int64_t n LATHE_FLAT) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) total[i] += x[i];
}

}  // namespace

void accumulate(float* total, const float* x, int64_t n, cudaStream_t stream) {
  constexpr int kThreads = 256;
  launch_flat<accumulate_step>(blocks_for(n, kThreads), kThreads, stream, total, x, n);
}

}  // namespace lathe::kernels
