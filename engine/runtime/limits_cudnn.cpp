// What the cuda build does with each switch today. A switch that is not listed works in all its values.
#include "engine/runtime/options.h"

namespace lathe {

const std::vector<Limit>& build_limits() {
  static const std::vector<Limit> limits = {
      {"kernels", {"handwritten"}, "handwritten", "the cuDNN implementations are not in this version"},
      {"precision", {"fp32"}, "fp32", "autocast is not in this version"},
      {"layout", {"nchw"}, "nchw", "the layout pass is not in this version"},
      {"fusion", {"off"}, "off", "the fusion pass is not in this version"},
      {"memory", {"naive", "plan"}, "naive", "the caching allocator is not in this version"},
      {"recompute", {"off"}, "off", "the recompute pass is not in this version"},
      {"augment-on", {"device"}, "device", "augmentation on the host is not in this version"},
      {"winograd", {"off"}, "off", "Winograd convolution on the GPU is not in this version"},
      {"autotune", {"off"}, "off", "autotuning is not in this version"},
      {"deterministic", {"on"}, "on", "the handwritten kernels are deterministic in any case"},
  };
  return limits;
}

}  // namespace lathe
