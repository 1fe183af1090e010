// Sums over the axes of a tensor.
//
// Idea.   channel_sum works in two steps: many threads each sum a part of a channel (16 neighbouring floats
//         at a time, in 16 accumulators, which a CPU turns into vector registers and a GPU into four 16-byte
//         loads), then one thread a channel adds the parts in their order. No atomics, so the result never
//         varies. reduce_sum gives each output to one warp: lanes stride through the reduced elements, then a
//         tree of shuffles adds the lanes.
// Bytes.  4 an element; one addition in double.
// Bound.  Memory bandwidth.
#include "kernels/reduce/reduce.h"

#include "hostcuda/portable/launch.h"

namespace lathe::kernels {
namespace {

constexpr int kThreads = 128, kLanes = 16;

// How channel_sum cuts its work: parts[part, channels]. Planar: a part is `count` samples of one channel.
// Otherwise: `count` of the samples · spatial positions of kLanes channels.
struct Parts {
  int64_t count, parts, lane_groups;
};
Parts parts_of(const Activation& shape) {
  auto divide = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  if (shape.planar()) {
    int64_t count = 1024 / shape.spatial > 1 ? 1024 / shape.spatial : 1;
    return {count, divide(shape.samples, count), 1};
  }
  // Whole planes, so that a part never crosses a channel block: `count` samples.
  int64_t count = 1024 / shape.spatial > 1 ? 1024 / shape.spatial : 1;
  return {count, divide(shape.samples, count), divide(shape.block, kLanes)};
}

// Thread = (part, channel): sums `count` samples' planes of its channel.
__global__ void planar_parts(const float* __restrict__ dy,  // [samples, channels, spatial]
                             double* __restrict__ parts,    // [parts, channels]
                             Activation shape, int64_t count, int64_t threads LATHE_FLAT) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= threads) return;
  int64_t channels = shape.channel_blocks, channel = i % channels, first = i / channels * count;
  int64_t last = first + count < shape.samples ? first + count : shape.samples;
  double sum[kLanes] = {};
  for (int64_t n = first; n < last; ++n) {
    const float* plane = dy + (n * channels + channel) * shape.spatial;
    int64_t s = 0;
    for (; s + kLanes <= shape.spatial; s += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) sum[lane] += static_cast<double>(plane[s + lane]);
    }
    for (; s < shape.spatial; ++s) sum[0] += static_cast<double>(plane[s]);
  }
  double total = 0;
  for (double lane_sum : sum) total += lane_sum;
  parts[i] = total;
}

// Thread = (part, channel block, group of kLanes lanes): sums `count` samples' positions of up to kLanes
// channels.
__global__ void blocked_parts(const float* __restrict__ dy,  // [samples, channel_blocks, spatial, block]
                              double* __restrict__ parts,    // [parts, channels]
                              Activation shape, int64_t count, int64_t groups, int64_t threads LATHE_FLAT) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= threads) return;
  int64_t group = i % groups, channel_block = i / groups % shape.channel_blocks;
  int64_t part = i / groups / shape.channel_blocks, first = part * count;
  int64_t last = first + count < shape.samples ? first + count : shape.samples;
  int64_t width = shape.block - group * kLanes < kLanes ? shape.block - group * kLanes : kLanes;
  double sum[kLanes] = {};
  for (int64_t n = first; n < last; ++n) {
    const float* row =
        dy + (n * shape.channel_blocks + channel_block) * shape.spatial * shape.block + group * kLanes;
    if (width == kLanes) {
      for (int64_t s = 0; s < shape.spatial; ++s, row += shape.block) {
        for (int lane = 0; lane < kLanes; ++lane) sum[lane] += static_cast<double>(row[lane]);
      }
    } else {
      for (int64_t s = 0; s < shape.spatial; ++s, row += shape.block) {
        for (int64_t lane = 0; lane < width; ++lane) sum[lane] += static_cast<double>(row[lane]);
      }
    }
  }
  double* out = parts + part * shape.channels() + channel_block * shape.block + group * kLanes;
  for (int64_t lane = 0; lane < width; ++lane) out[lane] = sum[lane];
}

__global__ void add_parts(const double* parts, float* sums, int64_t count, int64_t channels LATHE_FLAT) {
  int64_t channel = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (channel >= channels) return;
  double sum = 0;
  for (int64_t part = 0; part < count; ++part) sum += parts[part * channels + channel];
  sums[channel] = static_cast<float>(sum);
}

__device__ int64_t offset_of(int64_t index, int rank, const int64_t* extent, const int64_t* stride) {
  int64_t offset = 0;
  for (int axis = rank - 1; axis >= 0; --axis) {
    offset += index % extent[axis] * stride[axis];
    index /= extent[axis];
  }
  return offset;
}

__global__ void reduce_kernel(const float* __restrict__ x, float* __restrict__ y,  // y: [plan.kept]
                              ReducePlan plan, double factor) {
  int lane = static_cast<int>(threadIdx.x) % 32;
  int64_t output = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  if (output >= plan.kept) return;  // whole warps leave together
  const float* base = x + offset_of(output, plan.kept_rank, plan.kept_extent, plan.kept_stride);
  double sum = 0;
  for (int64_t r = lane; r < plan.reduced; r += 32) {
    sum +=
        static_cast<double>(base[offset_of(r, plan.reduced_rank, plan.reduced_extent, plan.reduced_stride)]);
  }
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffu, sum, distance);
  if (lane == 0) y[output] = static_cast<float>(sum * factor);
}

}  // namespace

int64_t channel_sum_workspace(const Activation& shape) {
  return shape.elements() == 0
             ? 0
             : parts_of(shape).parts * shape.channels() * static_cast<int64_t>(sizeof(double));
}

void channel_sum(const float* dy, float* sums, const Activation& shape, void* workspace,
                 cudaStream_t stream) {
  int64_t channels = shape.channels();
  if (shape.elements() == 0) {
    cudaMemsetAsync(sums, 0, static_cast<size_t>(channels) * sizeof(float), stream);
    return;
  }
  double* parts = static_cast<double*>(workspace);
  Parts cut = parts_of(shape);
  int64_t threads = cut.parts * shape.channel_blocks * cut.lane_groups;
  if (shape.planar()) {
    launch_flat<planar_parts>(blocks_for(threads, kThreads), kThreads, stream, dy, parts, shape, cut.count,
                              threads);
  } else {
    launch_flat<blocked_parts>(blocks_for(threads, kThreads), kThreads, stream, dy, parts, shape, cut.count,
                               cut.lane_groups, threads);
  }
  launch_flat<add_parts>(blocks_for(channels, kThreads), kThreads, stream, parts, sums, cut.parts, channels);
}

void reduce_sum(const float* x, float* y, const ReducePlan& plan, double factor, cudaStream_t stream) {
  if (plan.kept == 0) return;
  launch<reduce_kernel>(blocks_for(plan.kept * 32, kThreads), kThreads, 0, stream, x, y, plan, factor);
}

}  // namespace lathe::kernels
