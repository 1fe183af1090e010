// nvcuda::wmma on a CPU: 16×16 fragments spread over the lanes of a warp. Used through
// hostcuda/include/mma.h.
#pragma once

#include <cstdint>

#include "cuda_runtime.h"

namespace hostcuda {

enum class FragmentUse : uint8_t { a, b, accumulator };

// A lane's part of a fragment, and the matrix in memory.
struct FragmentTransfer {
  FragmentUse use;
  int count;          // elements that the lane holds: each 8 are the same
  int element_bytes;  // 2 or 4
  void* elements;
  void* matrix;          // [16][16]: 16 rows, or 16 columns, `leading` elements apart
  unsigned int leading;  // rows or columns begin at multiples of 16 bytes, the matrix at one of 32
  bool column_major;
};
void load_fragment(FragmentTransfer transfer, Site site);
void store_fragment(FragmentTransfer transfer, Site site);

// d = a · b + c, where a and b hold fp16 or bf16 codes.
void multiply_add_fragments(bool bfloat16, float* d, const void* a, const void* b, const float* c, Site site);

}  // namespace hostcuda
