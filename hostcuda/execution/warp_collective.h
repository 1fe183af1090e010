// Operations that the 32 lanes of a warp make together, on what each of them brings.
#pragma once

#include "cuda_runtime.h"

namespace hostcuda {

struct WarpCollective {
  const char* name;  // for messages: "ldmatrix"
  // Run by the last lane to arrive, while the others are suspended. Returns null, or what is wrong.
  const char* (*run)(void* const (&brought)[32]);
};

// All 32 lanes must come, at the same site, and none may have returned: anything else is the kernel's error.
// Entered through a stub, as warp_operation().
void warp_collective(const WarpCollective& operation, void* brought,
                     Site site) asm("hostcuda_warp_collective");

}  // namespace hostcuda
