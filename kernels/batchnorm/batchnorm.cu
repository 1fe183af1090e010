// Batch normalisation: statistics, normalisation, gradient.
//
// Idea.   A block owns up to 32 neighbouring channels (one where a channel's plane is contiguous): its
//         threads are `lanes` channels × rows that stride through samples and positions, so a warp's loads
//         are contiguous in every layout. Warp shuffles add rows of a warp, shared memory adds the warps. The
//         variance takes a second pass over the data around the mean: E[x²] − E[x]² loses everything for
//         large means.
// Bytes.  Statistics read 8 an element, normalising reads 4 and writes 4; gradient reads 16 and writes 4.
// Bound.  Memory bandwidth.
#include "kernels/batchnorm/batchnorm.h"

#include "hostcuda/portable/launch.h"

namespace lathe::kernels {
namespace {

constexpr int kMaxThreads = 256, kMaxLanes = 32, kThreads = 256;

// Sum over the block's threads with the same lane, given to all of them. Thread = row · lanes + lane;
// lanes is a power of two up to 32. scratch: [warps · lanes]
__device__ double sum_over_rows(double value, int thread, int lanes, int warps, double* scratch) {
  for (int distance = 16; distance >= lanes; distance /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  int lane = thread % lanes;
  if (thread % 32 < lanes) scratch[thread / 32 * lanes + lane] = value;
  __syncthreads();
  double sum = 0;
  for (int warp = 0; warp < warps; ++warp) sum += scratch[warp * lanes + lane];
  __syncthreads();  // scratch is free again
  return sum;
}

// Adds body(offset) over a thread's share of one channel: elements row, row + rows, … of samples × positions.
template <typename Body>
__device__ double sum_channel(const Activation& shape, int64_t channel, int64_t row, int64_t rows,
                              Body body) {
  if (channel >= shape.channels()) return 0;
  int64_t block = channel / shape.block, lane = channel % shape.block;
  int64_t n = row / shape.spatial, s = row % shape.spatial;
  int64_t samples_ahead = rows / shape.spatial, positions_ahead = rows % shape.spatial;
  double sum = 0;
  while (n < shape.samples) {
    sum += body(((n * shape.channel_blocks + block) * shape.spatial + s) * shape.block + lane);
    n += samples_ahead;
    s += positions_ahead;
    if (s >= shape.spatial) s -= shape.spatial, ++n;
  }
  return sum;
}

__global__ void statistics_kernel(const float* __restrict__ x, float* mean, float* variance,
                                  float* running_mean, float* running_variance, Activation shape,
                                  double momentum) {
  __shared__ double scratch[kMaxThreads / 32 * kMaxLanes];
  int lanes = static_cast<int>(blockDim.x), rows = static_cast<int>(blockDim.y), warps = lanes * rows / 32;
  int row = static_cast<int>(threadIdx.y), thread = row * lanes + static_cast<int>(threadIdx.x);
  int64_t channel = int64_t(blockIdx.x) * lanes + threadIdx.x;
  double count = static_cast<double>(shape.samples * shape.spatial);

  double sum = sum_channel(shape, channel, row, rows, [&](int64_t i) { return static_cast<double>(x[i]); });
  double average = sum_over_rows(sum, thread, lanes, warps, scratch) / count;
  double squares = sum_channel(shape, channel, row, rows, [&](int64_t i) {
    double distance = static_cast<double>(x[i]) - average;
    return distance * distance;
  });
  squares = sum_over_rows(squares, thread, lanes, warps, scratch);
  if (row != 0 || channel >= shape.channels()) return;
  mean[channel] = static_cast<float>(average);
  variance[channel] = static_cast<float>(squares / count);
  running_mean[channel] =
      static_cast<float>((1 - momentum) * static_cast<double>(running_mean[channel]) + momentum * average);
  running_variance[channel] = static_cast<float>(
      (1 - momentum) * static_cast<double>(running_variance[channel]) + momentum * (squares / (count - 1)));
}

__device__ inline float inverse_deviation(float variance, double epsilon) {
  return static_cast<float>(1 / sqrt(static_cast<double>(variance) + epsilon));
}

__global__ void gradient_sums_kernel(const float* __restrict__ x, const float* __restrict__ dy,
                                     const float* mean, const float* variance, float* dgamma, float* dbeta,
                                     Activation shape, double epsilon) {
  __shared__ double scratch[kMaxThreads / 32 * kMaxLanes];
  int lanes = static_cast<int>(blockDim.x), rows = static_cast<int>(blockDim.y), warps = lanes * rows / 32;
  int row = static_cast<int>(threadIdx.y), thread = row * lanes + static_cast<int>(threadIdx.x);
  int64_t channel = int64_t(blockIdx.x) * lanes + threadIdx.x;
  bool inside = channel < shape.channels();
  float center = inside ? mean[channel] : 0,
        deviation = inside ? inverse_deviation(variance[channel], epsilon) : 0;

  double sum = sum_channel(shape, channel, row, rows, [&](int64_t i) { return static_cast<double>(dy[i]); });
  sum = sum_over_rows(sum, thread, lanes, warps, scratch);
  double product = sum_channel(shape, channel, row, rows, [&](int64_t i) {
    return static_cast<double>(dy[i]) * static_cast<double>((x[i] - center) * deviation);
  });
  product = sum_over_rows(product, thread, lanes, warps, scratch);
  if (row != 0 || !inside) return;
  dbeta[channel] = static_cast<float>(sum);
  dgamma[channel] = static_cast<float>(product);
}

// factor[c] = gamma / sqrt(variance + epsilon)
__global__ void factor_kernel(const float* gamma, const float* variance, float* factor, int64_t channels,
                              double epsilon LATHE_FLAT) {
  int64_t c = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (c < channels) factor[c] = gamma[c] * inverse_deviation(variance[c], epsilon);
}

// dx = a·dy + b·(x − mean) + c.  a, b, c: [channels]
__global__ void gradient_factors_kernel(const float* gamma, const float* variance, const float* dgamma,
                                        const float* dbeta, float* a, float* b, float* c, int64_t channels,
                                        double count, double epsilon LATHE_FLAT) {
  int64_t k = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k >= channels) return;
  double deviation = 1 / sqrt(static_cast<double>(variance[k]) + epsilon);
  double factor = static_cast<double>(gamma[k]) * deviation;
  a[k] = static_cast<float>(factor);
  b[k] = static_cast<float>(-factor * deviation * static_cast<double>(dgamma[k]) / count);
  c[k] = static_cast<float>(-factor * static_cast<double>(dbeta[k]) / count);
}

// Rows and columns as in bias: planar, a row is one channel's plane; otherwise the channels of one position.
template <bool kPlanar>
__global__ void apply_kernel(const float* x, const float* factor, const float* beta, const float* mean,
                             float* y, int64_t rows, int64_t columns, int64_t spatial,
                             int64_t channel_blocks LATHE_FLAT) {
  int64_t column = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  int64_t row = (int64_t(blockIdx.z) * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;
  int64_t first = kPlanar ? row % channel_blocks : row / spatial % channel_blocks * columns;
  if (row >= rows) return;
  if (column < columns) {
    int64_t c = kPlanar ? first : first + column;
    y[row * columns + column] = (x[row * columns + column] - mean[c]) * factor[c] + beta[c];
  }
}

template <bool kPlanar>
__global__ void gradient_apply_kernel(const float* __restrict__ x, const float* __restrict__ dy,
                                      const float* __restrict__ mean, const float* __restrict__ a,
                                      const float* __restrict__ b, const float* __restrict__ shift,
                                      float* __restrict__ dx, int64_t rows, int64_t columns, int64_t spatial,
                                      int64_t channel_blocks LATHE_FLAT) {
  int64_t column = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  int64_t row = (int64_t(blockIdx.z) * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;
  int64_t first = kPlanar ? row % channel_blocks : row / spatial % channel_blocks * columns;
  if (row >= rows) return;
  if (column < columns) {
    int64_t c = kPlanar ? first : first + column, i = row * columns + column;
    dx[i] = a[c] * dy[i] + b[c] * (x[i] - mean[c]) + shift[c];
  }
}

// A block's threads for one sum over channels: enough rows that each adds about 32 values.
struct ChannelGrid {
  unsigned blocks;
  dim3 block;
};
ChannelGrid channel_grid(const Activation& shape) {
  int64_t lanes = 1;
  while (lanes < shape.block && lanes < kMaxLanes) lanes *= 2;
  int64_t threads = 32, wanted = shape.samples * shape.spatial * lanes / 32;
  while (threads < wanted && threads < kMaxThreads) threads *= 2;
  return {blocks_for(shape.channels(), static_cast<int>(lanes)),
          dim3(static_cast<unsigned>(lanes), static_cast<unsigned>(threads / lanes), 1)};
}

struct RowShape {
  int64_t rows, columns;
  RowGrid threads;
};
RowShape row_shape(const Activation& shape) {
  int64_t rows = shape.planar() ? shape.planes() : shape.planes() * shape.spatial;
  int64_t columns = shape.planar() ? shape.spatial : shape.block;
  return {rows, columns, row_grid(rows, columns)};
}

}  // namespace

void batch_norm_statistics(const float* x, float* mean, float* variance, float* running_mean,
                           float* running_variance, const Activation& shape, double momentum,
                           cudaStream_t stream) {
  ChannelGrid threads = channel_grid(shape);
  launch<statistics_kernel>(threads.blocks, threads.block, 0, stream, x, mean, variance, running_mean,
                            running_variance, shape, momentum);
}

void batch_norm_apply(const float* x, const float* gamma, const float* beta, const float* mean,
                      const float* variance, float* y, const Activation& shape, double epsilon,
                      float* workspace, cudaStream_t stream) {
  if (shape.elements() == 0) return;
  int64_t channels = shape.channels();
  auto [rows, columns, threads] = row_shape(shape);
  launch_flat<factor_kernel>(blocks_for(channels, kThreads), kThreads, stream, gamma, variance, workspace,
                             channels, epsilon);
  if (shape.planar()) {
    launch_flat<apply_kernel<true>>(threads.grid, threads.block, stream, x, workspace, beta, mean, y, rows,
                                    columns, shape.spatial, shape.channel_blocks);
  } else {
    launch_flat<apply_kernel<false>>(threads.grid, threads.block, stream, x, workspace, beta, mean, y, rows,
                                     columns, shape.spatial, shape.channel_blocks);
  }
}

void batch_norm_gradient(const float* x, const float* dy, const float* gamma, const float* mean,
                         const float* variance, float* dx, float* dgamma, float* dbeta,
                         const Activation& shape, double epsilon, float* workspace, cudaStream_t stream) {
  int64_t channels = shape.channels();
  float *a = workspace, *b = a + channels, *c = b + channels;
  double count = static_cast<double>(shape.samples * shape.spatial);
  ChannelGrid sums = channel_grid(shape);
  auto [rows, columns, threads] = row_shape(shape);
  launch<gradient_sums_kernel>(sums.blocks, sums.block, 0, stream, x, dy, mean, variance, dgamma, dbeta,
                               shape, epsilon);
  launch_flat<gradient_factors_kernel>(blocks_for(channels, kThreads), kThreads, stream, gamma, variance,
                                       dgamma, dbeta, a, b, c, channels, count, epsilon);
  if (shape.planar()) {
    launch_flat<gradient_apply_kernel<true>>(threads.grid, threads.block, stream, x, dy, mean, a, b, c, dx,
                                             rows, columns, shape.spatial, shape.channel_blocks);
  } else {
    launch_flat<gradient_apply_kernel<false>>(threads.grid, threads.block, stream, x, dy, mean, a, b, c, dx,
                                              rows, columns, shape.spatial, shape.channel_blocks);
  }
}

}  // namespace lathe::kernels
