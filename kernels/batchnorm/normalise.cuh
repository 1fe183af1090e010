// The elementwise halves of batch normalisation: y from x and its statistics, dx from dy and its sums. Two
// functors say what is fused: finish(value) gives y, incoming(dy, offset) the gradient that arrives.
#pragma once

#include "kernels/batchnorm/channel_reduction.cuh"
#include "kernels/batchnorm/ladder.h"

namespace lathe::kernels {

// Nothing is fused.
struct AsItIs {
  __device__ float operator()(float value) const { return value; }
  __device__ float operator()(const float* dy, int64_t i) const { return dy[i]; }
};

__device__ inline float inverse_deviation(float variance, double epsilon) {
  return static_cast<float>(1 / sqrt(static_cast<double>(variance) + epsilon));
}

// factor[c] = gamma / sqrt(variance + epsilon); all [channels]
template <int = 0>  // a template, so that each file that launches it may define it
__global__ void normalise_factors(const float* gamma, const float* variance, float* factor, int64_t channels,
                                  double epsilon LATHE_FLAT) {
  const int64_t c = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (c < channels) factor[c] = gamma[c] * inverse_deviation(variance[c], epsilon);
}

// Planar (nchw): a row is one channel's plane. Otherwise a row is the channels of one position.
template <bool kPlanar, typename Finish>
__global__ void normalise_kernel(const float* x,       // [rows, columns]
                                 const float* factor,  // [channels], as beta and mean
                                 const float* beta, const float* mean,
                                 float* y,  // as x
                                 int64_t rows, int64_t columns, int64_t spatial, int64_t channel_blocks,
                                 Finish finish LATHE_FLAT) {
  const int64_t column = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t row = (int64_t(blockIdx.z) * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;
  const int64_t first = kPlanar ? row % channel_blocks : row / spatial % channel_blocks * columns;
  if (row >= rows) return;
  if (column < columns) {
    const int64_t c = kPlanar ? first : first + column, i = row * columns + column;
    y[i] = finish((x[i] - mean[c]) * factor[c] + beta[c]);
  }
}

// dx = a·dy + b·(x − mean) + c.  a, b, c, the others: [channels]
template <int = 0>
__global__ void gradient_factors(const float* gamma, const float* variance, const float* dgamma,
                                 const float* dbeta, float* a, float* b, float* c, int64_t channels,
                                 double count, double epsilon LATHE_FLAT) {
  const int64_t k = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k >= channels) return;
  const double deviation = 1 / sqrt(static_cast<double>(variance[k]) + epsilon);
  const double factor = static_cast<double>(gamma[k]) * deviation;
  a[k] = static_cast<float>(factor);
  b[k] = static_cast<float>(-factor * deviation * static_cast<double>(dgamma[k]) / count);
  c[k] = static_cast<float>(-factor * static_cast<double>(dbeta[k]) / count);
}

template <bool kPlanar, typename Incoming>
__global__ void gradient_kernel(const float* __restrict__ x,     // [rows, columns]
                                const float* __restrict__ dy,    // as x
                                const float* __restrict__ mean,  // [channels], as a, b and shift
                                const float* __restrict__ a, const float* __restrict__ b,
                                const float* __restrict__ shift,
                                float* __restrict__ dx,  // as x
                                int64_t rows, int64_t columns, int64_t spatial, int64_t channel_blocks,
                                Incoming incoming LATHE_FLAT) {
  const int64_t column = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t row = (int64_t(blockIdx.z) * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;
  const int64_t first = kPlanar ? row % channel_blocks : row / spatial % channel_blocks * columns;
  if (row >= rows) return;
  if (column < columns) {
    const int64_t c = kPlanar ? first : first + column, i = row * columns + column;
    dx[i] = a[c] * incoming(dy, i) + b[c] * (x[i] - mean[c]) + shift[c];
  }
}

struct RowShape {
  int64_t rows, columns;
  RowGrid threads;
};
inline RowShape row_shape(const Activation& shape) {
  const int64_t rows = shape.planar() ? shape.planes() : shape.planes() * shape.spatial;
  const int64_t columns = shape.planar() ? shape.spatial : shape.block;
  return {rows, columns, row_grid(rows, columns)};
}

// y = finish((x − mean) · gamma / sqrt(variance + epsilon) + beta).  x, y: [shape]   workspace and the
// others: [channels]
template <typename Finish>
void normalise(const float* x, const float* gamma, const float* beta, const float* mean,
               const float* variance, float* y, const Activation& shape, double epsilon, float* workspace,
               Finish finish, cudaStream_t stream) {
  if (shape.elements() == 0) return;
  constexpr int kThreads = 256;
  const int64_t channels = shape.channels();
  const auto [rows, columns, threads] = row_shape(shape);
  launch_flat<normalise_factors<>>(blocks_for(channels, kThreads), kThreads, stream, gamma, variance,
                                   workspace, channels, epsilon);
  if (shape.planar()) {
    launch_flat<normalise_kernel<true, Finish>>(threads.grid, threads.block, stream, x, workspace, beta, mean,
                                                y, rows, columns, shape.spatial, shape.channel_blocks,
                                                finish);
  } else {
    launch_flat<normalise_kernel<false, Finish>>(threads.grid, threads.block, stream, x, workspace, beta,
                                                 mean, y, rows, columns, shape.spatial, shape.channel_blocks,
                                                 finish);
  }
}

// dx, from x, dy, gamma, mean, variance, dgamma and dbeta.
template <typename Incoming>
void spread_gradient(const BatchNormGradient& p, Incoming incoming, cudaStream_t stream) {
  constexpr int kThreads = 256;
  const int64_t channels = p.shape.channels();
  float *a = p.workspace, *b = a + channels, *c = b + channels;
  const double count = static_cast<double>(p.shape.samples * p.shape.spatial);
  const auto [rows, columns, threads] = row_shape(p.shape);
  launch_flat<gradient_factors<>>(blocks_for(channels, kThreads), kThreads, stream, p.gamma, p.variance,
                                  p.dgamma, p.dbeta, a, b, c, channels, count, p.epsilon);
  if (p.shape.planar()) {
    launch_flat<gradient_kernel<true, Incoming>>(threads.grid, threads.block, stream, p.x, p.dy, p.mean, a, b,
                                                 c, p.dx, rows, columns, p.shape.spatial,
                                                 p.shape.channel_blocks, incoming);
  } else {
    launch_flat<gradient_kernel<false, Incoming>>(threads.grid, threads.block, stream, p.x, p.dy, p.mean, a,
                                                  b, c, p.dx, rows, columns, p.shape.spatial,
                                                  p.shape.channel_blocks, incoming);
  }
}

// dgamma and dbeta in one pass.
template <typename Incoming>
__global__ void gradient_sums(BatchNormGradient p, Incoming incoming) {
  __shared__ Sums<2> scratch[kScratch];
  const ChannelThread t = channel_thread();
  const bool inside = t.channel < p.shape.channels();
  const float mean = inside ? p.mean[t.channel] : 0;
  const float deviation = inside ? inverse_deviation(p.variance[t.channel], p.epsilon) : 0;
  Sums<2> sums{};
  for_each_in_channel(p.shape, t, [&](int64_t i) {
    const float dy = incoming(p.dy, i);
    sums.at[0] += static_cast<double>(dy);
    sums.at[1] += static_cast<double>(dy) * static_cast<double>((p.x[i] - mean) * deviation);
  });
  sums = merge_rows(sums, t, scratch);
  if (t.row != 0 || !inside) return;
  p.dbeta[t.channel] = static_cast<float>(sums.at[0]);
  p.dgamma[t.channel] = static_cast<float>(sums.at[1]);
}

template <typename Incoming>
void gradient(const BatchNormGradient& p, Incoming incoming, cudaStream_t stream) {
  const ChannelGrid threads = channel_grid(p.shape);
  launch<gradient_sums<Incoming>>(threads.blocks, threads.block, 0, stream, p, incoming);
  spread_gradient(p, incoming, stream);
}

// What every rung does with a channel's mean and its Σ (x − mean)².
__device__ inline void store_statistics(const BatchNorm& p, int64_t channel, double mean, double squares) {
  const double count = static_cast<double>(p.shape.samples * p.shape.spatial);
  p.mean[channel] = static_cast<float>(mean);
  p.variance[channel] = static_cast<float>(squares / count);
  p.running_mean[channel] =
      static_cast<float>((1 - p.momentum) * static_cast<double>(p.running_mean[channel]) + p.momentum * mean);
  p.running_variance[channel] =
      static_cast<float>((1 - p.momentum) * static_cast<double>(p.running_variance[channel]) +
                         p.momentum * (squares / (count - 1)));
}

}  // namespace lathe::kernels
