// What max and average pooling share: the shape rule and its refusals.
#pragma once

#include "kernels/pool/pool.h"
#include "layers/step.h"

namespace lathe {

// Attributes: window, stride, padding ints[2] (height, width), ceil int (1: a last, partial window counts
// too). A window that would start in the far padding is dropped, as in PyTorch.
inline int64_t pooled_extent(const Call& call, int64_t in, int axis) {
  const Attributes& a = call.attributes;
  int64_t window = a.integers("window").at(axis), stride = a.integers("stride").at(axis);
  int64_t padding = a.integers("padding").at(axis);
  require(window >= 1 && stride >= 1, call, "pooling window and stride must be at least 1");
  require(padding >= 0 && padding <= window / 2, call,
          "pooling padding must lie in 0 … window/2, it is " + std::to_string(padding) + " for a window of " +
              std::to_string(window));
  int64_t room = in + 2 * padding - window;
  require(in >= 1 && room >= 0, call,
          "pooling window " + std::to_string(window) + " is larger than the padded input of " +
              std::to_string(in + 2 * padding));
  int64_t out = (a.integer("ceil") != 0 ? (room + stride - 1) / stride : room / stride) + 1;
  if ((out - 1) * stride >= in + padding) --out;
  return out;
}

inline Type pooled_type(const Call& call) {
  Type type = call.inputs[0];
  require(type.shape.rank() == 4, call, "pooling needs N,C,H,W, x is " + to_string(type));
  type.shape = {type.shape[0], type.shape[1], pooled_extent(call, type.shape[2], 0),
                pooled_extent(call, type.shape[3], 1)};
  return type;
}

// For gradients: dx's type, from dy's and the attribute input_size ints[2], checked against the forward rule.
inline Type unpooled_type(const Call& call, const Type& dy) {
  require(dy.shape.rank() == 4, call, "pooling needs N,C,H,W, dy is " + to_string(dy));
  const std::vector<int64_t>& size = call.attributes.integers("input_size");
  Type type = dy;
  type.shape = {dy.shape[0], dy.shape[1], size.at(0), size.at(1)};
  return type;
}

// The windows between a larger tensor (x or dx) and a smaller one (y or dy). Without the attribute window:
// adaptive.
inline kernels::Pool pool_of(const Attributes& attributes, const Type& large, const Type& small) {
  kernels::Activation shape = activation(large);
  auto axis = [&](int i) -> kernels::PoolAxis {
    if (!attributes.has("window")) return {large.shape[2 + i], small.shape[2 + i], 0, 0, 0};
    return {large.shape[2 + i], small.shape[2 + i], attributes.integers("window")[i],
            attributes.integers("stride")[i], attributes.integers("padding")[i]};
  };
  return {shape.planes(), shape.block, axis(0), axis(1)};
}

}  // namespace lathe
