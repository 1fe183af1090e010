// Elementwise arithmetic beside the ladder's (ladder.h).
//
// Idea.   One thread an element, consecutive threads on consecutive addresses, so that every memory
//         transaction is full. Nothing is reused, so there is nothing else to gain.
// Bytes.  4 for each operand and element; one operation.
// Bound.  Memory bandwidth.
#include "kernels/elementwise/elementwise.h"

#include "hostcuda/portable/launch.h"
#include "kernels/elementwise/ladder.h"
#include "kernels/random/philox.h"

namespace lathe::kernels {
namespace {

constexpr int kThreads = 256;

__global__ void relu_kernel(const float* x, float* y, int64_t n LATHE_FLAT) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] < 0 ? 0 : x[i];
}

__global__ void relu_gradient_kernel(const float* y, const float* dy, float* dx, int64_t n LATHE_FLAT) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) dx[i] = y[i] > 0 ? dy[i] : 0;
}

__global__ void multiply_kernel(const float* a, const float* b, float* y, int64_t n LATHE_FLAT) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a[i] * b[i];
}

__global__ void multiply_by_scalar_kernel(const float* a, const float* b, float* y, int64_t n LATHE_FLAT) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a[i] * b[0];
}

__global__ void scale_kernel(const float* x, float factor, float* y, int64_t n LATHE_FLAT) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * factor;
}

// Planar (nchw): a row is one channel's plane. Otherwise a row is the channels of one position.
template <bool kPlanar>
__global__ void bias_kernel(const float* x, const float* b, float* y, int64_t rows, int64_t columns,
                            int64_t spatial, int64_t channel_blocks LATHE_FLAT) {
  int64_t column = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  int64_t row = (int64_t(blockIdx.z) * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;
  int64_t first = kPlanar ? row % channel_blocks : row / spatial % channel_blocks * columns;
  if (row >= rows) return;
  if (column < columns)
    y[row * columns + column] = x[row * columns + column] + b[kPlanar ? first : first + column];
}

// A thread makes one Philox counter's four words and serves the four positions that share it, wherever in
// memory they lie.
__global__ void blocked_dropout_kernel(const float* x, const int64_t* seed, const int64_t* step, float* y,
                                       Activation shape, float p, float factor, int64_t layer LATHE_FLAT) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x, n = shape.elements();
  if (4 * i >= n) return;
  uint64_t stream =
      random_stream(RandomUse::dropout, static_cast<uint64_t>(layer), static_cast<uint64_t>(step[0]));
  Philox4 words = philox(static_cast<uint64_t>(seed[0]), stream, static_cast<uint64_t>(i));
  for (int word = 0; word < 4 && 4 * i + word < n; ++word) {
    int64_t at = 4 * i + word;  // in N,C,H,W order
    int64_t plane = at / shape.spatial, lane = plane % shape.block;
    at = ((plane - lane) * shape.spatial) + at % shape.spatial * shape.block + lane;
    y[at] = uniform(words[word]) >= p ? x[at] * factor : 0.0f;
  }
}

}  // namespace

void relu(const float* x, float* y, int64_t n, cudaStream_t stream) {
  if (n > 0) launch_flat<relu_kernel>(blocks_for(n, kThreads), kThreads, stream, x, y, n);
}

void relu_gradient(const float* y, const float* dy, float* dx, int64_t n, cudaStream_t stream) {
  if (n > 0) launch_flat<relu_gradient_kernel>(blocks_for(n, kThreads), kThreads, stream, y, dy, dx, n);
}

void multiply(const float* a, const float* b, float* y, int64_t n, cudaStream_t stream) {
  if (n > 0) launch_flat<multiply_kernel>(blocks_for(n, kThreads), kThreads, stream, a, b, y, n);
}

void multiply_by_scalar(const float* a, const float* b, float* y, int64_t n, cudaStream_t stream) {
  if (n > 0) launch_flat<multiply_by_scalar_kernel>(blocks_for(n, kThreads), kThreads, stream, a, b, y, n);
}

void scale(const float* x, float factor, float* y, int64_t n, cudaStream_t stream) {
  if (n > 0) launch_flat<scale_kernel>(blocks_for(n, kThreads), kThreads, stream, x, factor, y, n);
}

void bias(const float* x, const float* b, float* y, const Activation& shape, cudaStream_t stream) {
  if (shape.elements() == 0) return;
  int64_t spatial = shape.spatial, blocks = shape.channel_blocks;
  int64_t rows = shape.planar() ? shape.planes() : shape.planes() * spatial;
  int64_t columns = shape.planar() ? spatial : shape.block;
  RowGrid threads = row_grid(rows, columns);
  if (shape.planar()) {
    launch_flat<bias_kernel<true>>(threads.grid, threads.block, stream, x, b, y, rows, columns, spatial,
                                   blocks);
  } else {
    launch_flat<bias_kernel<false>>(threads.grid, threads.block, stream, x, b, y, rows, columns, spatial,
                                    blocks);
  }
}

void dropout(const float* x, const int64_t* seed, const int64_t* step, float* y, const Activation& shape,
             double p, int64_t layer, cudaStream_t stream) {
  int64_t n = shape.elements();
  if (shape.planar()) {
    elementwise_vectorised(Dropout<float>{x, seed, step, y, n, p, layer}, stream);
  } else {
    launch_flat<blocked_dropout_kernel>(blocks_for((n + 3) / 4, kThreads), kThreads, stream, x, seed, step, y,
                                        shape, static_cast<float>(p), static_cast<float>(1 / (1 - p)), layer);
  }
}

}  // namespace lathe::kernels
