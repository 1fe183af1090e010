// What the host build does with each switch today. A switch that is not listed works in all its values.
#include "engine/runtime/options.h"

namespace lathe {
namespace {

std::vector<Limit> limits_of_this_cpu() {
  std::vector<Limit> limits = {
      {"kernels", {"library", "handwritten", "reference"}, "library", ""},
      {"precision", {"fp32"}, "fp32", "the host build computes in fp32"},
      {"fusion", {"off"}, "off", "the fusion pass is not in this version"},
      {"memory", {"naive", "plan"}, "naive", "the caching allocator is not in this version"},
      {"recompute", {"off"}, "off", "the recompute pass is not in this version"},
      {"augment-on", {"device"}, "device", "augmentation on the host is not in this version"},
      {"autotune", {"off"}, "off", "autotuning is not in this version"},
      {"deterministic", {"on"}, "on", "the host build has no faster path that is not deterministic"},
  };
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) return limits;
#endif
  limits.push_back({"winograd", {"off"}, "off", "oneDNN has Winograd convolutions for AVX-512 only"});
  return limits;
}

}  // namespace

const std::vector<Limit>& build_limits() {
  static const std::vector<Limit> limits = limits_of_this_cpu();
  return limits;
}

}  // namespace lathe
