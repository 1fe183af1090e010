// Max pooling, rung 2: 128 bits of channels a thread.  y and index from x, dx from dy; NHWC; fp32 and fp16.
//
// Idea.        In NHWC the channels of a position lie side by side: a thread takes 4 (fp16: 8) of them with
//              one load, and works out its window once for all. Other layouts, and channels or addresses
//              that are no multiple of a vector, go to rung 1.
// Bytes.       2×2 in fp32: 16 read and 5 written an output, in fp16 8 and 3; its gradient as much the
//              other way, each dy being read by four threads, from cache.
// Operations.  Three comparisons an output of 2×2, and the window's place shared by a vector.
// Bound.       Memory bandwidth.
// Instructions. LDG.E.128; STG.E.128.
#include "hostcuda/portable/launch.h"
#include "kernels/activation.h"
#include "kernels/pool/ladder.h"
#include "kernels/vector.h"

namespace lathe::kernels {
namespace {

template <typename T>
constexpr int kWidth = 16 / sizeof(T);  // channels of a thread

// Rows are (plane, output row, output column), columns are vectors of channels.
template <typename T>
__global__ void max_pool_02_vectorised(const T* __restrict__ x,      // [planes, in, in, block]
                                       T* __restrict__ y,            // [planes, out, out, block]
                                       uint8_t* __restrict__ index,  // as y
                                       Pool pool, int64_t rows, int64_t columns LATHE_FLAT) {
  const int64_t column = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t row = (int64_t(blockIdx.z) * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;
  if (row >= rows || column >= columns) return;
  const PoolAxis &height = pool.height, &width = pool.width;
  const int64_t j = row % width.out, line = row / width.out, i = line % height.out, plane = line / height.out;
  const int64_t top = i * height.stride - height.padding, left = j * width.stride - width.padding;

  float best[kWidth<T>] = {};
  Vector<uint8_t, kWidth<T>> where{};
  bool first = true;
  for (int64_t h = height.begin(i); h < height.end(i); ++h) {
    for (int64_t w = width.begin(j); w < width.end(j); ++w) {
      const int64_t at = ((plane * height.in + h) * width.in + w) * columns + column;
      const auto candidates = reinterpret_cast<const Vector<T>*>(x)[at];
      const auto position = static_cast<uint8_t>((h - top) * width.window + (w - left));
      for (int k = 0; k < kWidth<T>; ++k) {
        const float candidate = float(candidates.at[k]);
        const bool take = first || replaces(candidate, best[k]);
        best[k] = take ? candidate : best[k];
        where.at[k] = take ? position : where.at[k];
      }
      first = false;
    }
  }
  Vector<T> result;
  for (int k = 0; k < kWidth<T>; ++k) result.at[k] = T(best[k]);
  reinterpret_cast<Vector<T>*>(y)[row * columns + column] = result;
  reinterpret_cast<Vector<uint8_t, kWidth<T>>*>(index)[row * columns + column] = where;
}

// As above, over the input.
template <typename T>
__global__ void max_pool_gradient_02_vectorised(
    const uint8_t* __restrict__ index,  // [planes, out, out, block]
    const T* __restrict__ dy,           // as index
    T* __restrict__ dx,                 // [planes, in, in, block]
    Pool pool, int64_t rows, int64_t columns LATHE_FLAT) {
  const int64_t column = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t row = (int64_t(blockIdx.z) * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;
  if (row >= rows || column >= columns) return;
  const PoolAxis &height = pool.height, &width = pool.width;
  const int64_t w = row % width.in, line = row / width.in, h = line % height.in, plane = line / height.in;

  float sum[kWidth<T>] = {};
  for (int64_t i = height.first(h); i <= height.last(h); ++i) {
    for (int64_t j = width.first(w); j <= width.last(w); ++j) {
      const auto position = static_cast<uint8_t>((h - i * height.stride + height.padding) * width.window +
                                                 (w - j * width.stride + width.padding));
      const int64_t at = ((plane * height.out + i) * width.out + j) * columns + column;
      const auto where = reinterpret_cast<const Vector<uint8_t, kWidth<T>>*>(index)[at];
      const auto gradient = reinterpret_cast<const Vector<T>*>(dy)[at];
      for (int k = 0; k < kWidth<T>; ++k) sum[k] += where.at[k] == position ? float(gradient.at[k]) : 0;
    }
  }
  Vector<T> result;
  for (int k = 0; k < kWidth<T>; ++k) result.at[k] = T(sum[k]);
  reinterpret_cast<Vector<T>*>(dx)[row * columns + column] = result;
}

// Whether a position's channels are whole vectors.
template <typename T>
bool fits(const Pool& pool, const uint8_t* index, const T* a, const T* b) {
  return pool.block % kWidth<T> == 0 && aligned_to(16, a, b) && aligned_to(kWidth<T>, index);
}

}  // namespace

template <typename T>
void max_pool_vectorised(const MaxPool<T>& p, cudaStream_t stream) {
  if (!fits(p.pool, p.index, p.x, p.y)) return max_pool_direct(p, stream);
  const int64_t rows = p.pool.planes * p.pool.height.out * p.pool.width.out,
                columns = p.pool.block / kWidth<T>;
  if (rows * columns == 0) return;
  const RowGrid threads = row_grid(rows, columns);
  launch_flat<max_pool_02_vectorised<T>>(threads.grid, threads.block, stream, p.x, p.y, p.index, p.pool, rows,
                                         columns);
}

template <typename T>
void max_pool_vectorised(const MaxPoolGradient<T>& p, cudaStream_t stream) {
  if (!fits(p.pool, p.index, p.dy, p.dx)) return max_pool_direct(p, stream);
  const int64_t rows = p.pool.planes * p.pool.height.in * p.pool.width.in, columns = p.pool.block / kWidth<T>;
  if (rows * columns == 0) return;
  const RowGrid threads = row_grid(rows, columns);
  launch_flat<max_pool_gradient_02_vectorised<T>>(threads.grid, threads.block, stream, p.index, p.dy, p.dx,
                                                  p.pool, rows, columns);
}
LATHE_MAX_POOL_INSTANCES(max_pool_vectorised);

}  // namespace lathe::kernels
