// The factor that every gradient is multiplied by before the update: loss scaling undone, norm clipped. The
// norm is over all parameters: rung 5 of the reductions leaves some sums of squares for each tensor.
//
// Idea.   One block adds these up and makes the factor of them. A gradient that is infinite or NaN makes the
//         norm so, and the factor NaN, which tells the optimizer to skip the step: no pass of its own looks
//         for such numbers. (A square of a float never overflows in fp64.)
// Bytes.  8 a sum; rung 5 read 4 an element.
// Bound.  Latency.
#include <cmath>

#include "hostcuda/portable/launch.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/reduce/block_sum.cuh"

namespace lathe::kernels {
namespace {

__global__ void __launch_bounds__(kSumThreads)
    finish_scale(const double* sums, int64_t count, const float* loss_scale, double max_norm, float* scale) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += kSumThreads) sum += sums[i];
  sum = block_sum(sum);
  if (threadIdx.x != 0) return;
  const auto loss = static_cast<double>(*loss_scale);
  const double norm = sqrt(sum) / loss;
  const double clip = max_norm > 0 && norm > max_norm ? max_norm / norm : 1;
  const bool good = isfinite(norm) && isfinite(loss) && loss > 0;
  scale[0] = good ? static_cast<float>(clip / loss) : NAN;
}

}  // namespace

void gradient_scale(const double* sums, int64_t count, const float* loss_scale, double max_norm, float* scale,
                    cudaStream_t stream) {
  launch<finish_scale>(1, kSumThreads, 0, stream, sums, count, loss_scale, max_norm, scale);
}

}  // namespace lathe::kernels
