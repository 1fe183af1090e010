// What the rungs of the transposition ladder share: the tile of a block, the conversion, the types.
#pragma once

#include "hostcuda/portable/launch.h"
#include "kernels/transpose/ladder.h"

namespace lathe::kernels {

// The launcher for each From and each To.
#define LATHE_TRANSPOSE_TO(launcher, To)                                  \
  template void launcher(const Transposition<float, To>&, cudaStream_t);  \
  template void launcher(const Transposition<__half, To>&, cudaStream_t); \
  template void launcher(const Transposition<__nv_bfloat16, To>&, cudaStream_t)
#define LATHE_TRANSPOSE_ALL(launcher)   \
  LATHE_TRANSPOSE_TO(launcher, float);  \
  LATHE_TRANSPOSE_TO(launcher, __half); \
  LATHE_TRANSPOSE_TO(launcher, __nv_bfloat16)

template <typename To, typename From>
__device__ inline To convert(From x) {
  return static_cast<To>(static_cast<float>(x));
}

// Matrices cut into square tiles, which are numbered along a row of tiles first, then from row to row, then
// from matrix to matrix: one number, because a grid has only one long axis.
struct Tiling {
  int64_t across, down;  // tiles in a matrix
  int size;              // rows and columns of a tile

  Tiling(int64_t rows, int64_t columns, int size)
      : across((columns + size - 1) / size), down((rows + size - 1) / size), size(size) {}

  __device__ int64_t first_column(int64_t tile) const { return tile % across * size; }
  __device__ int64_t first_row(int64_t tile) const { return tile / across % down * size; }
  __device__ int64_t matrix(int64_t tile) const { return tile / across / down; }
};

template <typename From, typename To>
unsigned int blocks_of(const Tiling& tiling, const Transposition<From, To>& problem) {
  return static_cast<unsigned int>(problem.matrices * tiling.across * tiling.down);
}

}  // namespace lathe::kernels
