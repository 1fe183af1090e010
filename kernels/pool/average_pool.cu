// Average pooling, with fixed or adaptive windows, and its gradient.
//
// Idea.   As max pooling: lanes (or columns) along x, the gradient a gather over the windows that cover an
//         element.
// Bytes.  Window · 4 read (from cache where windows overlap) and 4 written an output; one addition an input.
// Bound.  Memory bandwidth.
#include "hostcuda/portable/launch.h"
#include "kernels/activation.h"
#include "kernels/pool/pool.h"

namespace lathe::kernels {
namespace {

__device__ inline float divisor(const Pool& pool, int64_t i, int64_t j, bool count_padding) {
  int64_t count =
      count_padding ? pool.height.padded_length(i) * pool.width.padded_length(j)
                    : (pool.height.end(i) - pool.height.begin(i)) * (pool.width.end(j) - pool.width.begin(j));
  return static_cast<float>(count);
}

template <bool kPlanar>
__global__ void average_pool_kernel(const float* __restrict__ x,  // [planes, in, in, block]
                                    float* __restrict__ y,        // [planes, out, out, block]
                                    Pool pool, bool count_padding, int64_t rows, int64_t columns LATHE_FLAT) {
  int64_t column = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  int64_t row = (int64_t(blockIdx.z) * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;
  if (row >= rows || column >= columns) return;
  const PoolAxis &height = pool.height, &width = pool.width;
  int64_t lane = kPlanar ? 0 : column;
  int64_t j = kPlanar ? column : row % width.out;
  int64_t line = kPlanar ? row : row / width.out;
  int64_t i = line % height.out, plane = line / height.out;
  const float* in = x + plane * height.in * width.in * pool.block + lane;
  float sum = 0;
  for (int64_t h = height.begin(i); h < height.end(i); ++h) {
    for (int64_t w = width.begin(j); w < width.end(j); ++w) sum += in[(h * width.in + w) * pool.block];
  }
  y[row * columns + column] = sum / divisor(pool, i, j, count_padding);
}

template <bool kPlanar>
__global__ void average_pool_gradient_kernel(const float* __restrict__ dy,  // [planes, out, out, block]
                                             float* __restrict__ dx,        // [planes, in, in, block]
                                             Pool pool, bool count_padding, int64_t rows,
                                             int64_t columns LATHE_FLAT) {
  int64_t column = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  int64_t row = (int64_t(blockIdx.z) * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;
  if (row >= rows || column >= columns) return;
  const PoolAxis &height = pool.height, &width = pool.width;
  int64_t lane = kPlanar ? 0 : column;
  int64_t w = kPlanar ? column : row % width.in;
  int64_t line = kPlanar ? row : row / width.in;
  int64_t h = line % height.in, plane = line / height.in;
  const float* from = dy + plane * height.out * width.out * pool.block + lane;
  float sum = 0;
  for (int64_t i = height.first(h); i <= height.last(h); ++i) {
    for (int64_t j = width.first(w); j <= width.last(w); ++j) {
      sum += from[(i * width.out + j) * pool.block] / divisor(pool, i, j, count_padding);
    }
  }
  dx[row * columns + column] = sum;
}

}  // namespace

void average_pool(const float* x, float* y, const Pool& pool, bool count_padding, cudaStream_t stream) {
  bool planar = pool.block == 1;
  int64_t lines = pool.planes * pool.height.out;
  int64_t rows = planar ? lines : lines * pool.width.out, columns = planar ? pool.width.out : pool.block;
  if (rows * columns == 0) return;
  RowGrid threads = row_grid(rows, columns);
  if (planar) {
    launch_flat<average_pool_kernel<true>>(threads.grid, threads.block, stream, x, y, pool, count_padding,
                                           rows, columns);
  } else {
    launch_flat<average_pool_kernel<false>>(threads.grid, threads.block, stream, x, y, pool, count_padding,
                                            rows, columns);
  }
}

void average_pool_gradient(const float* dy, float* dx, const Pool& pool, bool count_padding,
                           cudaStream_t stream) {
  bool planar = pool.block == 1;
  int64_t lines = pool.planes * pool.height.in;
  int64_t rows = planar ? lines : lines * pool.width.in, columns = planar ? pool.width.in : pool.block;
  if (rows * columns == 0) return;
  RowGrid threads = row_grid(rows, columns);
  if (planar) {
    launch_flat<average_pool_gradient_kernel<true>>(threads.grid, threads.block, stream, dy, dx, pool,
                                                    count_padding, rows, columns);
  } else {
    launch_flat<average_pool_gradient_kernel<false>>(threads.grid, threads.block, stream, dy, dx, pool,
                                                     count_padding, rows, columns);
  }
}

}  // namespace lathe::kernels
