// Sums. Every order of additions is fixed by the shape alone, and the accumulators are double.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/activation.h"

namespace lathe::kernels {

// sums[c] = Σ dy over samples and positions.  dy: an activation; sums: [channels]
// workspace: channel_sum_workspace(shape) bytes.
void channel_sum(const float* dy, float* sums, const Activation& shape, void* workspace, cudaStream_t stream);
int64_t channel_sum_workspace(const Activation& shape);

// A tensor seen as kept and reduced axes, both outermost first; strides in elements.
struct ReducePlan {
  static constexpr int kMaxRank = 6;
  int kept_rank = 0, reduced_rank = 0;
  int64_t kept_extent[kMaxRank] = {}, kept_stride[kMaxRank] = {};
  int64_t reduced_extent[kMaxRank] = {}, reduced_stride[kMaxRank] = {};
  int64_t kept = 1, reduced = 1;  // products of the extents
};
// y[k] = factor · Σ_r x[k, r].  y: [kept], dense. An empty sum is 0.
void reduce_sum(const float* x, float* y, const ReducePlan& plan, double factor, cudaStream_t stream);

}  // namespace lathe::kernels
