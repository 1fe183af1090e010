// Turns a CUDA error into the one-line Error a user sees.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "engine/runtime/error.h"

namespace lathe {

// Throws Error(device): "<what>: <CUDA's own text>".
inline void check_cuda(cudaError_t status, const std::string& what) {
  if (status != cudaSuccess) throw Error(ExitCode::device, what + ": " + cudaGetErrorString(status));
}

}  // namespace lathe
