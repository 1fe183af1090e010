// ldmatrix and mma on a CPU: operations that a warp's 32 lanes make together. Used through
// hostcuda/portable/tensor_core.h; `mma.h` has CUDA's own interface.
#pragma once

#include <cstdint>

#include "cuda_runtime.h"

namespace hostcuda {

// ldmatrix of 1, 2 or 4 matrices into as many registers. `row` counts in the first 8·matrices lanes.
template <int matrices, bool transposed>
void load_matrices(uint32_t* registers, const void* row, Site site);

// d += a · b for a 16×16 tile of A, a 16×8 tile of B, of fp16 or bf16.
template <bool bfloat16>
void multiply_add_16x8x16(float* d, const uint32_t* a, const uint32_t* b, Site site);

}  // namespace hostcuda
