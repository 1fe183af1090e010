// Bounds: the least time that a GPU's arithmetic units and its memory need, from counted work and known
// peaks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe {

struct Gpu {
  std::string name;
  double fp32_flops = 0;    // a second; a multiply-add is two
  double tensor_flops = 0;  // 16-bit inputs, fp32 sums, dense
  double bytes_per_s = 0;   // of its memory

  double flops(std::string_view element) const;  // of the units that work on "fp32", "fp16", …
};

// From their data sheets: T4, A100, RTX 4090, H200.
const std::vector<Gpu>& known_gpus();

// The current device of the CUDA runtime, from its attributes: the clock is its highest, so a run reaches
// less. Throws Error(device).
Gpu this_gpu();

struct Bound {
  double arithmetic_s = 0, memory_s = 0;
  double seconds() const { return arithmetic_s > memory_s ? arithmetic_s : memory_s; }
  const char* by() const { return arithmetic_s > memory_s ? "arithmetic" : "memory"; }
};
Bound bound_on(const Gpu& gpu, std::string_view element, double operations, double bytes);

std::string format_seconds(double seconds);  // "12.3 µs"

}  // namespace lathe
