// Softmax, rung 3: one warp a row.  p, losses and dlogits from logits[rows, classes], fp32.
//
// Idea.        Lanes read neighbouring classes, keep them in registers, and combine maxima and sums by
//              shuffles: no shared memory, no barrier, and the row is read once. Loss and gradient follow
//              in the same launch. A row too long for the registers is read again, from cache where it
//              fits.
// Bytes.       4 read and 8 written a logit, in full sectors; up to 1024 classes.
// Operations.  9 a logit, two of them exponentials; 15 shuffles a row.
// Bound.       Memory bandwidth; below some hundred rows the latency of the shuffles.
// Instructions. SHFL.
#include "hostcuda/portable/launch.h"
#include "kernels/softmax/row.cuh"

namespace lathe::kernels {
namespace {

constexpr int kWarp = 32, kThreads = 128;
static_assert(kThreads % kWarp == 0, "a row's lanes leave together");
constexpr unsigned kAll = 0xffffffffu;

// A lane's share of a row, class lane, lane + 32, …, held in registers.
template <int kHeld>
struct HeldRow {
  static constexpr int64_t kMaxClasses = int64_t{kWarp} * kHeld;
  float held[kHeld] = {};
  int64_t classes;
  int lane;

  __device__ HeldRow(const float* x, int64_t classes, int lane) : classes(classes), lane(lane) {
    for_each([&](int64_t k, float& value) { value = x[k]; });
  }
  template <typename Body>
  __device__ void for_each(Body body) {
    for (int i = 0; i < kHeld; ++i) {
      if (lane + i * kWarp < classes) body(lane + i * kWarp, held[i]);
    }
  }
};

// The same, read each time.
struct LongRow {
  const float* x;  // [classes]
  int64_t classes;
  int lane;

  __device__ LongRow(const float* x, int64_t classes, int lane) : x(x), classes(classes), lane(lane) {}
  template <typename Body>
  __device__ void for_each(Body body) {
    for (int64_t k = lane; k < classes; k += kWarp) body(k, x[k]);
  }
};

__device__ float warp_max(float value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    value = fmaxf(value, __shfl_xor_sync(kAll, value, distance));
  return value;
}
__device__ float warp_sum(float value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(kAll, value, distance);
  return value;
}

template <typename Row>
__global__ void softmax_03_warp_row(Softmax p) {
  const int64_t n = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (n >= p.rows) return;
  Row x(p.logits + n * p.classes, p.classes, lane);
  const int64_t label = p.labels ? p.labels[n] : -1;

  SoftmaxRow row{-INFINITY, 0, label >= 0 && label < p.classes};
  float x_at_label = 0;
  x.for_each([&](int64_t k, float value) {
    row.maximum = fmaxf(row.maximum, value);
    row.valid = row.valid && fabsf(value) < INFINITY;  // false for NaN
    if (k == label) x_at_label = value;
  });
  row.maximum = warp_max(row.maximum);
  row.valid = __all_sync(kAll, row.valid) != 0;

  float below = 0;
  x.for_each([&](int64_t, float value) {
    row.sum += expf(value - row.maximum);
    below += row.maximum - value;
  });
  row.sum = warp_sum(row.sum);

  if (p.losses) {
    if (p.smoothing > 0) below = warp_sum(below);
    if (lane == (label & (kWarp - 1))) p.losses[n] = row.loss(p, x_at_label, below);
  }
  if (!p.p && !p.dlogits) return;
  const float dloss = p.dlogits ? p.dlosses[n] : 0;
  x.for_each([&](int64_t k, float value) {
    const float probability = row.probability(value);
    if (p.p) p.p[n * p.classes + k] = probability;
    if (p.dlogits) p.dlogits[n * p.classes + k] = row.dlogit(p, probability, k == label, dloss);
  });
}

template <typename Row>
void launch_rows(const Softmax& p, cudaStream_t stream) {
  launch<softmax_03_warp_row<Row>>(blocks_for(p.rows * kWarp, kThreads), kThreads, 0, stream, p);
}

}  // namespace

void softmax_warp_row(const Softmax& p, cudaStream_t stream) {
  if (p.classes <= HeldRow<1>::kMaxClasses) {
    launch_rows<HeldRow<1>>(p, stream);
  } else if (p.classes <= HeldRow<4>::kMaxClasses) {
    launch_rows<HeldRow<4>>(p, stream);
  } else if (p.classes <= HeldRow<32>::kMaxClasses) {
    launch_rows<HeldRow<32>>(p, stream);
  } else {
    launch_rows<LongRow>(p, stream);
  }
}

}  // namespace lathe::kernels
