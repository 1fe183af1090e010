// Slicing, joining and repeating as strided copies; for concat, slice, broadcast and their implementations.
#pragma once

#include <vector>

#include "kernels/transpose/strided_copy.h"
#include "layers/step.h"

namespace lathe {

inline constexpr int64_t kMaxCopyRank = kernels::CopyPlan::kMaxRank;

// Row-major strides, in elements.
inline std::vector<int64_t> strides_of(const Shape& shape) {
  std::vector<int64_t> strides(shape.rank(), 1);
  for (int64_t axis = shape.rank() - 2; axis >= 0; --axis)
    strides[axis] = strides[axis + 1] * shape[axis + 1];
  return strides;
}

inline kernels::CopyPlan copy_plan(const Shape& box, const std::vector<int64_t>& in,
                                   const std::vector<int64_t>& out) {
  kernels::CopyPlan plan;
  plan.rank = static_cast<int>(box.rank());
  for (int axis = 0; axis < plan.rank; ++axis) {
    plan.extent[axis] = box[axis], plan.in_stride[axis] = in[axis], plan.out_stride[axis] = out[axis];
  }
  return plan;
}

// The copy done plainly, for references.
inline void copy_on_host(const float* in, float* out, const kernels::CopyPlan& plan, int axis = 0) {
  if (axis == plan.rank) {
    *out = *in;
    return;
  }
  for (int64_t i = 0; i < plan.extent[axis]; ++i) {
    copy_on_host(in + i * plan.in_stride[axis], out + i * plan.out_stride[axis], plan, axis + 1);
  }
}

// For `supports`: strided copies move f32 tensors of rank up to 8.
inline std::string copies_f32(const Call& call) {
  for (const auto* types : {&call.inputs, &call.outputs}) {
    for (const Type& type : *types) {
      if (type.dtype != DType::f32) return "copies f32 only, not " + to_string(type);
      if (type.shape.rank() > kMaxCopyRank) return "copies up to rank 8, not " + to_string(type);
    }
  }
  return only_row_major(call);
}

}  // namespace lathe
