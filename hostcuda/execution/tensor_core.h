// ldmatrix and mma on a CPU: operations that a warp's 32 lanes make together. Used through
// hostcuda/portable/tensor_core.h, which calls warp_collective() itself: each function that a fiber returns
// from after a switch costs it a mispredicted return.
#pragma once

#include <cstdint>

#include "hostcuda/execution/warp_collective.h"

namespace hostcuda {

// What a lane brings to `count` times ldmatrix of 1, 2 or 4 matrices: rows[i], and where as many registers
// each go. The rows of the first 8·matrices lanes count.
struct MatrixRows {
  uint32_t* registers;
  const void* const* rows;
  int count;
};
// Before it: checks the current thread's rows, and tells an observer of them.
void check_rows(const MatrixRows& rows, int matrices, Site site);
template <int matrices, bool transposed>
const char* load_matrices(void* const (&lanes)[32]);
template <int matrices, bool transposed>
constexpr WarpCollective kLoadMatrices{"ldmatrix", load_matrices<matrices, transposed>};

// What it brings to d[i][j] += a[i] · b[j]: 16×16 tiles of A, 16×8 tiles of B, of fp16 or bf16; 4, 4 and 2
// registers a tile.
struct MmaOperands {
  float* d;
  const uint32_t* a;
  const uint32_t* b;
  int rows, columns;
};
constexpr int kMostColumns = 8;
template <bool bfloat16>
const char* multiply_add(void* const (&lanes)[32]);
template <bool bfloat16>
constexpr WarpCollective kMultiplyAdd{"mma", multiply_add<bfloat16>};

}  // namespace hostcuda
