// What is known of a row of logits once it has been read, and what follows from it. The rungs differ in how
// they find it.
#pragma once

#include <cmath>

#include "kernels/softmax/ladder.h"

namespace lathe::kernels {

struct SoftmaxRow {
  float maximum, sum;  // of exp(x − maximum), which cannot overflow
  bool valid;          // every logit is finite and the label is a class

  __device__ float probability(float x) const { return expf(x - maximum) / sum; }

  // below: Σ_k (maximum − x[k]), used where smoothing > 0. (maximum − x) and log(sum) are both exact where
  // maximum + log(sum) would round the small one away.
  __device__ float loss(const Softmax& p, float x_at_label, float below) const {
    float loss = (1 - p.smoothing) * (maximum - x_at_label) + logf(sum);
    if (p.smoothing > 0) loss += p.smoothing * below / static_cast<float>(p.classes);
    return valid ? loss : NAN;
  }

  __device__ float dlogit(const Softmax& p, float probability, bool is_label, float dloss) const {
    float target = (is_label ? 1 - p.smoothing : 0.0f) + p.smoothing / static_cast<float>(p.classes);
    return valid ? dloss * (probability - target) : NAN;
  }
};

}  // namespace lathe::kernels
