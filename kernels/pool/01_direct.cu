// Max pooling, rung 1: one thread an output.  y and index from x, dx from dy; any layout; fp32 and fp16.
//
// Idea.        Neighbouring threads take neighbouring channels of a position (NCHW: neighbouring columns),
//              so that loads are contiguous. The gradient is a gather: each input element looks at the
//              windows over it, so nothing is added twice and no atomics are needed. VGG's 2×2 windows,
//              which do not overlap, are straight-line code.
// Bytes.       2×2 in fp32: 16 read and 5 written an output; its gradient 5 read and 16 written.
// Operations.  Three comparisons an output of 2×2.
// Bound.       Memory bandwidth; in fp16 the instructions: finding its window costs a thread more than
//              using it.
#include "hostcuda/portable/launch.h"
#include "kernels/activation.h"
#include "kernels/pool/ladder.h"

namespace lathe::kernels {
namespace {

// Rows are (plane, output row, output column), columns are lanes; planar: (plane, output row) × output
// columns.
template <bool kPlanar, typename T>
__global__ void max_pool_01(const T* __restrict__ x,      // [planes, in, in, block]
                            T* __restrict__ y,            // [planes, out, out, block]
                            uint8_t* __restrict__ index,  // as y
                            Pool pool, int64_t rows, int64_t columns LATHE_FLAT) {
  int64_t column = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  int64_t row = (int64_t(blockIdx.z) * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;
  if (row >= rows || column >= columns) return;
  const PoolAxis &height = pool.height, &width = pool.width;
  int64_t lane = kPlanar ? 0 : column;
  int64_t j = kPlanar ? column : row % width.out;
  int64_t line = kPlanar ? row : row / width.out;
  int64_t i = line % height.out, plane = line / height.out;
  const T* in = x + plane * height.in * width.in * pool.block + lane;
  int64_t top = i * height.stride - height.padding, left = j * width.stride - width.padding;
  float best = 0;
  int64_t where = -1;
  for (int64_t h = height.begin(i); h < height.end(i); ++h) {
    for (int64_t w = width.begin(j); w < width.end(j); ++w) {
      const float candidate = in[(h * width.in + w) * pool.block];
      if (where < 0 || replaces(candidate, best)) {
        best = candidate;
        where = (h - top) * width.window + (w - left);
      }
    }
  }
  y[row * columns + column] = T(best);
  index[row * columns + column] = static_cast<uint8_t>(where);
}

// 2×2 windows, stride 2, no padding, every window inside.
template <bool kPlanar, typename T>
__global__ void max_pool_01_2x2(const T* __restrict__ x, T* __restrict__ y, uint8_t* __restrict__ index,
                                Pool pool, int64_t rows, int64_t columns LATHE_FLAT) {
  int64_t column = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  int64_t row = (int64_t(blockIdx.z) * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;
  int64_t line =
      kPlanar ? row : row / pool.width.out;  // before the check, so that a CPU's loop hoists the division
  int64_t plane = line / pool.height.out, i = line % pool.height.out;
  if (row >= rows) return;
  int64_t left = kPlanar ? 0 : row % pool.width.out * 2 * columns;
  int64_t pitch = pool.width.in * (kPlanar ? 1 : columns);
  const T* above = x + (plane * pool.height.in + 2 * i) * pitch + left;
  const T* below = above + pitch;
  T* out = y + row * columns;
  uint8_t* where = index + row * columns;
  int64_t right = kPlanar ? 1 : columns;
  if (column < columns) {
    int64_t at = kPlanar ? 2 * column : column;
    float best = above[at];
    int position = 0;
    float candidate = above[at + right];
    bool take = replaces(candidate, best);
    best = take ? candidate : best, position = take ? 1 : position;
    candidate = below[at], take = replaces(candidate, best);
    best = take ? candidate : best, position = take ? 2 : position;
    candidate = below[at + right], take = replaces(candidate, best);
    best = take ? candidate : best, position = take ? 3 : position;
    out[column] = T(best);
    where[column] = static_cast<uint8_t>(position);
  }
}

// As max_pool_01, over the input.
template <bool kPlanar, typename T>
__global__ void max_pool_gradient_01(const uint8_t* __restrict__ index,  // [planes, out, out, block]
                                     const T* __restrict__ dy,           // as index
                                     T* __restrict__ dx,                 // [planes, in, in, block]
                                     Pool pool, int64_t rows, int64_t columns LATHE_FLAT) {
  int64_t column = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  int64_t row = (int64_t(blockIdx.z) * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;
  if (row >= rows || column >= columns) return;
  const PoolAxis &height = pool.height, &width = pool.width;
  int64_t lane = kPlanar ? 0 : column;
  int64_t w = kPlanar ? column : row % width.in;
  int64_t line = kPlanar ? row : row / width.in;
  int64_t h = line % height.in, plane = line / height.in;
  float sum = 0;
  for (int64_t i = height.first(h); i <= height.last(h); ++i) {
    for (int64_t j = width.first(w); j <= width.last(w); ++j) {
      int64_t position =
          (h - i * height.stride + height.padding) * width.window + (w - j * width.stride + width.padding);
      int64_t from = ((plane * height.out + i) * width.out + j) * pool.block + lane;
      if (index[from] == position) sum += float(dy[from]);
    }
  }
  dx[row * columns + column] = T(sum);
}

// 2×2 windows, stride 2, that tile the input: each thread writes its own window.
template <bool kPlanar, typename T>
__global__ void max_pool_gradient_01_2x2(const uint8_t* __restrict__ index, const T* __restrict__ dy,
                                         T* __restrict__ dx, Pool pool, int64_t rows,
                                         int64_t columns LATHE_FLAT) {
  int64_t column = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  int64_t row = (int64_t(blockIdx.z) * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;
  int64_t line = kPlanar ? row : row / pool.width.out;
  int64_t left = kPlanar ? 0 : row % pool.width.out * 2 * columns;
  if (row >= rows) return;
  int64_t pitch = pool.width.in * (kPlanar ? 1 : columns);
  T* above = dx + 2 * line * pitch + left;
  T* below = above + pitch;
  const T* from = dy + row * columns;
  const uint8_t* where = index + row * columns;
  int64_t right = kPlanar ? 1 : columns;
  if (column < columns) {
    int64_t at = kPlanar ? 2 * column : column;
    const T value = from[column];
    int position = where[column];
    above[at] = position == 0 ? value : T(0.0f);
    above[at + right] = position == 1 ? value : T(0.0f);
    below[at] = position == 2 ? value : T(0.0f);
    below[at + right] = position == 3 ? value : T(0.0f);
  }
}

bool is_2x2(const PoolAxis& axis) {
  return axis.window == 2 && axis.stride == 2 && axis.padding == 0 && 2 * axis.out <= axis.in;
}

}  // namespace

template <typename T>
void max_pool_direct(const MaxPool<T>& p, cudaStream_t stream) {
  const Pool& pool = p.pool;
  bool planar = pool.block == 1;
  int64_t lines = pool.planes * pool.height.out;
  int64_t rows = planar ? lines : lines * pool.width.out, columns = planar ? pool.width.out : pool.block;
  if (rows * columns == 0) return;
  RowGrid threads = row_grid(rows, columns);
  if (is_2x2(pool.height) && is_2x2(pool.width)) {
    if (planar) {
      launch_flat<max_pool_01_2x2<true, T>>(threads.grid, threads.block, stream, p.x, p.y, p.index, pool,
                                            rows, columns);
    } else {
      launch_flat<max_pool_01_2x2<false, T>>(threads.grid, threads.block, stream, p.x, p.y, p.index, pool,
                                             rows, columns);
    }
  } else if (planar) {
    launch_flat<max_pool_01<true, T>>(threads.grid, threads.block, stream, p.x, p.y, p.index, pool, rows,
                                      columns);
  } else {
    launch_flat<max_pool_01<false, T>>(threads.grid, threads.block, stream, p.x, p.y, p.index, pool, rows,
                                       columns);
  }
}

template <typename T>
void max_pool_direct(const MaxPoolGradient<T>& p, cudaStream_t stream) {
  const Pool& pool = p.pool;
  bool planar = pool.block == 1;
  bool tiled = is_2x2(pool.height) && is_2x2(pool.width) && 2 * pool.height.out == pool.height.in &&
               2 * pool.width.out == pool.width.in;
  int64_t lines = pool.planes * (tiled ? pool.height.out : pool.height.in);
  int64_t width = tiled ? pool.width.out : pool.width.in;
  int64_t rows = planar ? lines : lines * width, columns = planar ? width : pool.block;
  if (rows * columns == 0) return;
  RowGrid threads = row_grid(rows, columns);
  if (tiled && planar) {
    launch_flat<max_pool_gradient_01_2x2<true, T>>(threads.grid, threads.block, stream, p.index, p.dy, p.dx,
                                                   pool, rows, columns);
  } else if (tiled) {
    launch_flat<max_pool_gradient_01_2x2<false, T>>(threads.grid, threads.block, stream, p.index, p.dy, p.dx,
                                                    pool, rows, columns);
  } else if (planar) {
    launch_flat<max_pool_gradient_01<true, T>>(threads.grid, threads.block, stream, p.index, p.dy, p.dx, pool,
                                               rows, columns);
  } else {
    launch_flat<max_pool_gradient_01<false, T>>(threads.grid, threads.block, stream, p.index, p.dy, p.dx,
                                                pool, rows, columns);
  }
}
LATHE_MAX_POOL_INSTANCES(max_pool_direct);

}  // namespace lathe::kernels
