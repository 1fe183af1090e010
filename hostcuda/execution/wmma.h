// nvcuda::wmma on a CPU: 16×16 fragments spread over the lanes of a warp. Used through
// hostcuda/include/mma.h.
#pragma once

#include <cstdint>

#include "hostcuda/execution/warp_collective.h"

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
// Before it: checks the current thread's pointer and leading dimension, and tells an observer of its share.
void check_transfer(const FragmentTransfer& transfer, bool store, Site site);
template <typename T, bool store>
const char* transfer_fragment(void* const (&lanes)[32]);
template <typename T>  // uint16_t for the codes of fp16 and bf16, or float
constexpr WarpCollective kLoadFragment{"wmma::load_matrix_sync", transfer_fragment<T, false>};
template <typename T>
constexpr WarpCollective kStoreFragment{"wmma::store_matrix_sync", transfer_fragment<T, true>};

// d = a · b + c, where a and b hold fp16 or bf16 codes.
struct FragmentOperands {
  float* d;
  const void* a;
  const void* b;
  const float* c;
};
template <bool bfloat16>
const char* multiply_add_fragments(void* const (&lanes)[32]);
template <bool bfloat16>
constexpr WarpCollective kMultiplyAddFragments{"wmma::mma_sync", multiply_add_fragments<bfloat16>};

}  // namespace hostcuda
