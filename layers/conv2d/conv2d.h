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

// Where Winograd's F(4×4, 3×3) beats direct convolution, measured with oneDNN on VGG16's shapes: 1.2 to 2.5
// times from batch 32 on. The maps must fill their tiles, and three channels do not pay for the transforms. The
// batch has no say, though small ones are slower: an evaluation gives the same bits whatever its batch size.
bool winograd_wins(const ConvShape& shape);

}  // namespace lathe
