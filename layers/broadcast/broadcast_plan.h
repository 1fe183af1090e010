// A broadcast as a strided copy: the input's stride is 0 along the new axes.
#pragma once

#include "layers/reduce/reduce_axes.h"
#include "layers/strided.h"

namespace lathe {

inline kernels::CopyPlan broadcast_plan(const Call& call) {
  const Shape& shape = call.outputs[0].shape;
  std::vector<int64_t> kept = strides_of(call.inputs[0].shape), in(shape.rank(), 0);
  size_t next = 0;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (!has_axis(call.attributes.integers("axes"), axis)) in[axis] = kept.at(next++);
  }
  return copy_plan(shape, in, strides_of(shape));
}

}  // namespace lathe
