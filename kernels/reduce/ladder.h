// The reduction ladder: one number of n floats, each rung in its own file.
//
// Every rung takes any n ≥ 0 and any alignment of a float; no elements give 0. A block adds up a part of x
// and writes its sum, and the sums are added up in the same way, until one is left. There are no atomics: the
// order of additions depends on n alone. Rungs 1 to 4 add in fp32, rung 5 in fp64. A NaN or an infinity makes
// a sum NaN or infinite, as it should.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lathe::kernels {

// What is added up.
enum class ReduceKind {
  sum,         // x
  square_sum,  // x²: the square of the norm
  not_finite,  // 1 where x is infinite or NaN: 0 says that all are finite
};

struct Reduce {
  const float* x;  // [n]
  int64_t n;
  ReduceKind kind;
  float* result;    // [1]
  void* workspace;  // reduce_workspace(n) bytes, a multiple of 16
};
inline int64_t reduce_workspace(int64_t n) {
  return n / 256 * 5 + 8208;  // the sums of rung 1's first two passes, or of rung 5's 1024 blocks
}

void reduce_interleaved(const Reduce& problem, cudaStream_t stream);   // 01
void reduce_sequential(const Reduce& problem, cudaStream_t stream);    // 02
void reduce_unrolled(const Reduce& problem, cudaStream_t stream);      // 03
void reduce_warp_shuffle(const Reduce& problem, cudaStream_t stream);  // 04
void reduce_vectorised(const Reduce& problem, cudaStream_t stream);    // 05

// Rung 5's first pass alone, for a sum over several arrays: leaves reduce_partial_count(n) numbers in `sums`,
// in fp64, that add up to the result. The norm of a gradient is made of these.
int64_t reduce_partial_count(int64_t n);
void reduce_to_partials(const float* x, int64_t n, ReduceKind kind, double* sums, cudaStream_t stream);

}  // namespace lathe::kernels
