// What the 16-bit rungs of GEMM ask of a device.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <string>
#include <type_traits>

#include "kernels/unsupported.h"

namespace lathe::kernels {

// Throws Unsupported where the current device's tensor cores do not multiply numbers of type T.
template <typename T>
void require_tensor_cores(const char* rung) {
  int device = 0, major = 0, minor = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  if (!std::is_same_v<T, __nv_bfloat16> || major >= 8) return;
  throw Unsupported(std::string(rung) + ": bf16 needs compute capability 8.0, this device has " +
                    std::to_string(major) + "." + std::to_string(minor) + ". Use fp16.");
}

}  // namespace lathe::kernels
