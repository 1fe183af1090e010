// The memory of an activation tensor, and how threads are laid over it. For all kernels on N,C,H,W tensors.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lathe::kernels {

// A dense [samples, channel_blocks, spatial, block] array; channel = channel_block · block + lane.
// nchw: block 1. nhwc: one block of C. nchw16c: blocks of 16. One kernel serves all of them.
struct Activation {
  int64_t samples, channel_blocks, spatial, block;
  __host__ __device__ int64_t channels() const { return channel_blocks * block; }
  __host__ __device__ int64_t planes() const { return samples * channel_blocks; }
  __host__ __device__ int64_t elements() const { return planes() * spatial * block; }
  bool planar() const { return block == 1; }
};

// A grid of rows × columns threads, columns along x so that neighbouring threads touch neighbouring
// addresses.
//   int64_t column = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
//   int64_t row = (int64_t(blockIdx.z) * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;
// Both can lie beyond the end. Rows go over y and z, because a grid's y ends at 65535.
struct RowGrid {
  dim3 grid, block;
};
inline RowGrid row_grid(int64_t rows, int64_t columns) {
  constexpr int64_t kThreads = 256, kMaxY = 32768;
  int64_t x = 1;
  while (x < columns && x < kThreads) x *= 2;
  if (columns < x) x = columns;  // no idle threads in narrow rows
  int64_t y = kThreads / x;
  auto parts = [](int64_t n, int64_t size) { return n > size ? (n + size - 1) / size : int64_t{1}; };
  int64_t row_blocks = parts(rows, y);
  int64_t grid_y = row_blocks < kMaxY ? row_blocks : kMaxY;
  return {dim3(static_cast<unsigned>(parts(columns, x)), static_cast<unsigned>(grid_y),
               static_cast<unsigned>(parts(row_blocks, grid_y))),
          dim3(static_cast<unsigned>(x), static_cast<unsigned>(y), 1)};
}

}  // namespace lathe::kernels
