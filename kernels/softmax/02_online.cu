// Softmax, rung 2: maximum and sum in one pass.  p, losses and dlogits from logits[rows, classes], fp32.
//
// Idea.        The sum so far is kept relative to the maximum so far; when a larger logit comes, it is
//              scaled to the new maximum (Milakov and Gimelshein 2018). Two passes over the row are left of
//              three.
// Bytes.       Asked for: 8 read and 8 written a logit, with the lanes of a warp still a row apart.
// Operations.  11 a logit, three of them exponentials: one more than rung 1 buys a pass.
// Bound.       The memory system, and idle multiprocessors: a batch has few rows.
#include <cfloat>

#include "hostcuda/portable/launch.h"
#include "kernels/softmax/row.cuh"

namespace lathe::kernels {
namespace {

__global__ void softmax_02_online(Softmax p LATHE_FLAT) {
  const int64_t n = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (n >= p.rows) return;
  const float* x = p.logits + n * p.classes;  // [classes]
  const int64_t label = p.labels ? p.labels[n] : -1;
  const bool has_label = label >= 0 && label < p.classes;
  const float x_at_label = has_label ? x[label] : 0, dloss = p.dlogits ? p.dlosses[n] : 0;

  SoftmaxRow row{-FLT_MAX, 0, has_label};  // not −∞: ∞ − ∞ is NaN
  for (int64_t k = 0; k < p.classes; ++k) {
    const float maximum = fmaxf(row.maximum, x[k]);
    row.sum = row.sum * expf(row.maximum - maximum) + expf(x[k] - maximum);
    row.maximum = maximum;
    row.valid = row.valid && fabsf(x[k]) < INFINITY;
  }

  float below = 0;
  for (int64_t k = 0; k < p.classes; ++k) {
    below += row.maximum - x[k];
    const float probability = row.probability(x[k]);
    if (p.p) p.p[n * p.classes + k] = probability;
    if (p.dlogits) p.dlogits[n * p.classes + k] = row.dlogit(p, probability, k == label, dloss);
  }
  if (p.losses) p.losses[n] = row.loss(p, x_at_label, below);
}

}  // namespace

void softmax_online(const Softmax& p, cudaStream_t stream) {
  constexpr int kThreads = 128;
  launch_flat<softmax_02_online>(blocks_for(p.rows, kThreads), kThreads, stream, p);
}

}  // namespace lathe::kernels
