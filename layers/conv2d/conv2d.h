// The three convolutions seen alike: which operand is x, which is w, which is y, and all extents.
//   conv2d        inputs x, w    output y      (fprop)
//   conv2d_dgrad  inputs dy, w   output dx
//   conv2d_wgrad  inputs x, dy   output dw
#pragma once

#include <array>

#include "kernels/conv2d/shape.h"
#include "layers/layer.h"

namespace lathe {

enum class ConvDirection { fprop, dgrad, wgrad };

using ConvShape = kernels::ConvShape;

// The operands of a call (x stands for dx, y for dy, w for dw too). Needs call.outputs.
struct ConvOperands {
  Type x, w, y;
};
ConvOperands conv_operands(ConvDirection direction, const Call& call);
// All extents of a call whose shapes have been checked by infer.
ConvShape conv_shape(ConvDirection direction, const Call& call);

}  // namespace lathe
