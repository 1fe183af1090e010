// Softmax, rung 1: three passes over a row.  p, losses and dlogits from logits[rows, classes], fp32.
//
// Idea.        The definition, written down: a thread owns a row and walks along it for the maximum, again
//              for the sum, and again for what is wanted of each class. Subtracting the maximum keeps exp
//              in range.
// Bytes.       Asked for: 12 read and 8 written a logit. Neighbouring threads read neighbouring rows: each
//              of the 32 lanes of a warp asks for a sector of its own, and lives on its cache until the
//              next step.
// Operations.  9 a logit, two of them exponentials.
// Bound.       The memory system, and idle multiprocessors: a batch has few rows.
#include "hostcuda/portable/launch.h"
#include "kernels/softmax/row.cuh"

namespace lathe::kernels {
namespace {

__global__ void softmax_01_three_pass(Softmax p LATHE_FLAT) {
  const int64_t n = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (n >= p.rows) return;
  const float* x = p.logits + n * p.classes;  // [classes]
  const int64_t label = p.labels ? p.labels[n] : -1;
  const bool has_label = label >= 0 && label < p.classes;
  const float x_at_label = has_label ? x[label] : 0, dloss = p.dlogits ? p.dlosses[n] : 0;

  SoftmaxRow row{-INFINITY, 0, has_label};
  for (int64_t k = 0; k < p.classes; ++k) {
    row.maximum = fmaxf(row.maximum, x[k]);
    row.valid = row.valid && fabsf(x[k]) < INFINITY;  // false for NaN
  }

  float below = 0;
  for (int64_t k = 0; k < p.classes; ++k) {
    row.sum += expf(x[k] - row.maximum);
    below += row.maximum - x[k];
  }
  if (p.losses) p.losses[n] = row.loss(p, x_at_label, below);

  for (int64_t k = 0; k < p.classes; ++k) {
    const float probability = row.probability(x[k]);
    if (p.p) p.p[n * p.classes + k] = probability;
    if (p.dlogits) p.dlogits[n * p.classes + k] = row.dlogit(p, probability, k == label, dloss);
  }
}

}  // namespace

void softmax_three_pass(const Softmax& p, cudaStream_t stream) {
  constexpr int kThreads = 128;
  launch_flat<softmax_01_three_pass>(blocks_for(p.rows, kThreads), kThreads, stream, p);
}

}  // namespace lathe::kernels
