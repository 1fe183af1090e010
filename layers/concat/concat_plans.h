// Where each input of a concatenation goes.
#pragma once

#include "layers/strided.h"

namespace lathe {

struct ConcatPiece {
  kernels::CopyPlan plan;
  int64_t offset;  // of the piece in the output, in elements
};

inline std::vector<ConcatPiece> concat_plans(const Call& call) {
  int64_t axis = call.attributes.integer("axis"), begin = 0;
  std::vector<int64_t> out = strides_of(call.outputs[0].shape);
  std::vector<ConcatPiece> pieces;
  for (const Type& input : call.inputs) {
    pieces.push_back({copy_plan(input.shape, strides_of(input.shape), out), begin * out[axis]});
    begin += input.shape[axis];
  }
  return pieces;
}

}  // namespace lathe
