// Softmax and cross-entropy over rows of logits.
//
// Idea.   A warp owns a row: its lanes stride through the classes, and shuffles combine their maxima and
//         sums, so that no shared memory and no block barrier is needed. The row is read again (from cache)
//         instead of kept. Subtracting the maximum first keeps exp in range; the loss adds (max − x) and log
//         Σ, which are both exact where max + log Σ would round the small one away.
// Bytes.  4 read and 4 written a logit; about two exponentials.
// Bound.  Latency of a few dependent passes: rows are few and short.
#include "kernels/softmax/softmax.h"

#include <cmath>

#include "hostcuda/portable/launch.h"

namespace lathe::kernels {
namespace {

constexpr int kThreads = 128;  // four rows a block
constexpr unsigned kAll = 0xffffffffu;

struct RowStatistics {
  float maximum, sum;  // of exp(x − maximum)
  bool finite;         // every element
};

__device__ float warp_max(float value) {
  for (int distance = 16; distance > 0; distance /= 2)
    value = fmaxf(value, __shfl_xor_sync(kAll, value, distance));
  return value;
}

__device__ float warp_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(kAll, value, distance);
  return value;
}

__device__ RowStatistics row_statistics(const float* row, int64_t classes, int lane) {
  float maximum = -INFINITY;
  bool finite = true;
  for (int64_t k = lane; k < classes; k += 32) {
    maximum = fmaxf(maximum, row[k]);
    finite = finite && fabsf(row[k]) < INFINITY;  // false for NaN
  }
  maximum = warp_max(maximum);
  finite = __all_sync(kAll, finite) != 0;
  float sum = 0;
  for (int64_t k = lane; k < classes; k += 32) sum += expf(row[k] - maximum);
  return {maximum, warp_sum(sum), finite};
}

__global__ void softmax_kernel(const float* x, float* p, int64_t rows, int64_t classes) {
  int64_t n = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  int lane = static_cast<int>(threadIdx.x) % 32;
  if (n >= rows) return;  // whole warps leave together
  const float* row = x + n * classes;
  RowStatistics s = row_statistics(row, classes, lane);
  for (int64_t k = lane; k < classes; k += 32) p[n * classes + k] = expf(row[k] - s.maximum) / s.sum;
}

__global__ void cross_entropy_kernel(const float* logits, const int32_t* labels, float* losses, int64_t rows,
                                     int64_t classes, float smoothing) {
  int64_t n = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  int lane = static_cast<int>(threadIdx.x) % 32;
  if (n >= rows) return;
  const float* row = logits + n * classes;
  RowStatistics s = row_statistics(row, classes, lane);
  float below_maximum = 0;
  if (smoothing > 0) {
    for (int64_t k = lane; k < classes; k += 32) below_maximum += s.maximum - row[k];
    below_maximum = warp_sum(below_maximum);
  }
  if (lane != 0) return;
  int64_t label = labels[n];
  if (label < 0 || label >= classes || !s.finite) {
    losses[n] = NAN;
    return;
  }
  losses[n] = (1 - smoothing) * (s.maximum - row[label]) +
              smoothing * below_maximum / static_cast<float>(classes) + logf(s.sum);
}

__global__ void cross_entropy_gradient_kernel(const float* logits, const int32_t* labels,
                                              const float* dlosses, float* dlogits, int64_t rows,
                                              int64_t classes, float smoothing) {
  int64_t n = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  int lane = static_cast<int>(threadIdx.x) % 32;
  if (n >= rows) return;
  const float* row = logits + n * classes;
  RowStatistics s = row_statistics(row, classes, lane);
  int64_t label = labels[n];
  bool valid = label >= 0 && label < classes && s.finite;
  float uniform_part = smoothing / static_cast<float>(classes);
  for (int64_t k = lane; k < classes; k += 32) {
    float target = (k == label ? 1 - smoothing : 0.0f) + uniform_part;
    float gradient = dlosses[n] * (expf(row[k] - s.maximum) / s.sum - target);
    dlogits[n * classes + k] = valid ? gradient : NAN;
  }
}

__global__ void correct_kernel(const float* logits, const int32_t* labels, float* y, int64_t rows,
                               int64_t classes LATHE_FLAT) {
  int64_t n = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (n >= rows) return;
  const float* row = logits + n * classes;
  int64_t label = labels[n];
  bool right = label >= 0 && label < classes;
  for (int64_t k = 0; k < classes && right; ++k) {
    right = k < label ? row[k] < row[label] : row[k] <= row[label];  // false for NaN
  }
  y[n] = right ? 1.0f : 0.0f;
}

}  // namespace

void softmax(const float* x, float* p, int64_t rows, int64_t classes, cudaStream_t stream) {
  if (rows * classes == 0) return;
  launch<softmax_kernel>(blocks_for(rows * 32, kThreads), kThreads, 0, stream, x, p, rows, classes);
}

void softmax_cross_entropy(const float* logits, const int32_t* labels, float* losses, int64_t rows,
                           int64_t classes, double smoothing, cudaStream_t stream) {
  if (rows == 0) return;
  launch<cross_entropy_kernel>(blocks_for(rows * 32, kThreads), kThreads, 0, stream, logits, labels, losses,
                               rows, classes, static_cast<float>(smoothing));
}

void softmax_cross_entropy_gradient(const float* logits, const int32_t* labels, const float* dlosses,
                                    float* dlogits, int64_t rows, int64_t classes, double smoothing,
                                    cudaStream_t stream) {
  if (rows * classes == 0) return;
  launch<cross_entropy_gradient_kernel>(blocks_for(rows * 32, kThreads), kThreads, 0, stream, logits, labels,
                                        dlosses, dlogits, rows, classes, static_cast<float>(smoothing));
}

void correct(const float* logits, const int32_t* labels, float* y, int64_t rows, int64_t classes,
             cudaStream_t stream) {
  if (rows > 0)
    launch_flat<correct_kernel>(blocks_for(rows, kThreads), kThreads, stream, logits, labels, y, rows,
                                classes);
}

}  // namespace lathe::kernels
