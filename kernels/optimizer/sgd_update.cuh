// SGD's update of one element, for every rung of the ladder.
#pragma once

#include "kernels/optimizer/optimizer.h"

namespace lathe::kernels {

// parameter, buffer, gradient: [n], i < n. Where the step is skipped, old values are written back: a branch
// would keep g++ from vectorising.
template <bool kMomentum>
__device__ inline void sgd_update(float* parameter, float* buffer, const float* gradient, int64_t i,
                                  float rate, float scale, const SgdOptions& options) {
  const bool skip = scale != scale;
  const float p = parameter[i];
  float g = gradient[i] * scale + options.weight_decay * p;
  if (kMomentum) {
    const float before = buffer[i];
    const float moved = options.momentum * before + g;
    buffer[i] = skip ? before : moved;
    g = options.nesterov ? g + options.momentum * moved : moved;
  }
  parameter[i] = skip ? p : p - rate * g;
}

}  // namespace lathe::kernels
