// See predict.h.
#include "apps/kernels/predict.h"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <cmath>

#include "engine/runtime/cuda_check.h"

namespace lathe {
namespace {

// Multiply-adds a clock and multiprocessor, from the tuning guides and the data sheets' totals. Where GeForce
// cards halve the tensor cores' rate with fp32 sums (8.6, 8.9, 12.0), this is the full one.
struct Rates {
  int capability;  // 80 is 8.0, and up to the next row
  double fp32, tensor;
};
constexpr Rates kRates[] = {{70, 64, 512},  {75, 64, 512},   {80, 64, 1024},   {86, 128, 512},
                            {89, 128, 512}, {90, 128, 2048}, {100, 128, 4096}, {120, 128, 512}};

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}

}  // namespace

double Gpu::flops(std::string_view element) const {
  return element == "fp16" || element == "bf16" ? tensor_flops : fp32_flops;
}

const std::vector<Gpu>& known_gpus() {
  static const std::vector<Gpu> gpus = {{"T4", 8.1e12, 65e12, 320e9},
                                        {"A100 80GB", 19.5e12, 312e12, 2039e9},
                                        {"RTX 4090", 82.6e12, 165.2e12, 1008e9},
                                        {"H200", 67e12, 989.5e12, 4800e9}};
  return gpus;
}

Gpu this_gpu() {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "no GPU");
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  const int capability = 10 * properties.major + properties.minor;
  Rates rates = kRates[0];
  for (const Rates& row : kRates)
    if (row.capability <= capability) rates = row;
  const double clock = 1e3 * attribute(cudaDevAttrClockRate, device);  // from kHz
  const double units = clock * 2 * properties.multiProcessorCount;
  // Two transfers a clock of the memory.
  const double bandwidth = 2 * 1e3 * attribute(cudaDevAttrMemoryClockRate, device) / 8 *
                           attribute(cudaDevAttrGlobalMemoryBusWidth, device);
  return {properties.name, units * rates.fp32, units * rates.tensor, bandwidth};
}

Bound bound_on(const Gpu& gpu, std::string_view element, double operations, double bytes) {
  return {operations / gpu.flops(element), bytes / gpu.bytes_per_s};
}

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  if (seconds < 0.9995e-3) return fmt::format("{:.3g} µs", 1e6 * seconds);
  return seconds < 0.9995 ? fmt::format("{:.3g} ms", 1e3 * seconds) : fmt::format("{:.3g} s", seconds);
}

}  // namespace lathe
