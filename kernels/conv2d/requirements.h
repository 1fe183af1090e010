// How the convolution rungs say what they do not take.
#pragma once

#include <string>

#include "kernels/conv2d/ladder.h"
#include "kernels/unsupported.h"

namespace lathe::kernels {

// "N=2 C=3 H=8 W=8 O=4, kernel 3x3, stride 1x1, padding 1x1, dilation 1x1, groups 1, nchw"
inline std::string describe(const ConvShape& s, ConvLayout layout) {
  const auto extent = [](const char* name, int64_t value) { return name + std::to_string(value); };
  const auto pair = [](const char* name, int64_t h, int64_t w) {
    return name + std::to_string(h) + "x" + std::to_string(w);
  };
  return extent("N=", s.N) + extent(" C=", s.C) + extent(" H=", s.H) + extent(" W=", s.W) +
         extent(" O=", s.O) + pair(", kernel ", s.kernel_h, s.kernel_w) +
         pair(", stride ", s.stride_h, s.stride_w) + pair(", padding ", s.padding_h, s.padding_w) +
         pair(", dilation ", s.dilation_h, s.dilation_w) + extent(", groups ", s.groups) +
         (layout == ConvLayout::nchw ? ", nchw" : ", nhwc");
}

// Throws Unsupported, naming what `rung` was given and what it takes, unless `met`.
template <typename Problem>
void require(bool met, const char* rung, const Problem& given, const char* takes) {
  if (met) return;
  throw Unsupported(std::string(rung) + ": " + describe(given.shape, given.layout) +
                    " is not supported: takes " + takes);
}

}  // namespace lathe::kernels
