// The axes of a reduction or of a broadcast.
#pragma once

#include <algorithm>
#include <vector>

#include "layers/layer.h"

namespace lathe {

inline bool has_axis(const std::vector<int64_t>& axes, int64_t axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

// Refuses axes that the shape does not have, or that come twice.
inline void check_axes(const Call& call, const std::vector<int64_t>& axes, const Shape& shape) {
  for (int64_t axis : axes) {
    bool once = std::count(axes.begin(), axes.end(), axis) == 1;
    require(axis >= 0 && axis < shape.rank() && once, call,
            "axis " + std::to_string(axis) + " is not in " + to_string(shape) + " or comes twice");
  }
}

}  // namespace lathe
