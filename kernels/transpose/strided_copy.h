// Copying between two arrangements of the same elements: slices, concatenation, broadcasts, changes of
// layout.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lathe::kernels {

// A box of elements, outermost axis first; strides in elements. An in_stride of 0 repeats.
struct CopyPlan {
  static constexpr int kMaxRank = 8;
  int rank = 0;
  int64_t extent[kMaxRank] = {}, in_stride[kMaxRank] = {}, out_stride[kMaxRank] = {};
};
// out[Σ i·out_stride] = in[Σ i·in_stride] for every index in the box.
void strided_copy(const float* in, float* out, const CopyPlan& plan, cudaStream_t stream);

}  // namespace lathe::kernels
