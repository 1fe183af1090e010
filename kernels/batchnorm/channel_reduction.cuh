// How a block of threads goes through the channels of an activation, and how its threads' results become one
// a channel. For the statistics and the gradient sums of every rung.
//
// A block owns `lanes` neighbouring channels: up to 32, and one where a channel's plane is contiguous. Its
// threads are lanes × rows, and the rows stride through samples and positions, so that a warp's loads are
// contiguous in every layout.
#pragma once

#include "hostcuda/portable/launch.h"
#include "kernels/activation.h"

namespace lathe::kernels {

constexpr int kMaxThreads = 256, kMaxLanes = 32;
constexpr int kScratch = kMaxThreads / 32 * kMaxLanes;  // warps · lanes, at most

struct ChannelGrid {
  unsigned blocks;
  dim3 block;  // lanes × rows
};
// Enough rows that each has about 32 values.
inline ChannelGrid channel_grid(const Activation& shape) {
  int64_t lanes = 1;
  while (lanes < shape.block && lanes < kMaxLanes) lanes *= 2;
  int64_t threads = 32;
  const int64_t wanted = shape.samples * shape.spatial * lanes / 32;
  while (threads < wanted && threads < kMaxThreads) threads *= 2;
  return {blocks_for(shape.channels(), static_cast<int>(lanes)),
          dim3(static_cast<unsigned>(lanes), static_cast<unsigned>(threads / lanes), 1)};
}

// A thread's place in its block.
struct ChannelThread {
  int lanes, rows, lane, row;
  int64_t channel;
};
__device__ inline ChannelThread channel_thread() {
  const int lanes = static_cast<int>(blockDim.x), lane = static_cast<int>(threadIdx.x);
  return {lanes, static_cast<int>(blockDim.y), lane, static_cast<int>(threadIdx.y),
          int64_t(blockIdx.x) * lanes + lane};
}

// body(offset) for a thread's share of its channel: elements row, row + rows, … of samples × positions.
template <typename Body>
__device__ void for_each_in_channel(const Activation& shape, const ChannelThread& t, Body body) {
  if (t.channel >= shape.channels()) return;
  const int64_t block = t.channel / shape.block, lane = t.channel % shape.block;
  int64_t n = t.row / shape.spatial, s = t.row % shape.spatial;
  const int64_t samples_ahead = t.rows / shape.spatial, positions_ahead = t.rows % shape.spatial;
  while (n < shape.samples) {
    body(((n * shape.channel_blocks + block) * shape.spatial + s) * shape.block + lane);
    n += samples_ahead;
    s += positions_ahead;
    if (s >= shape.spatial) s -= shape.spatial, ++n;
  }
}

// Merges the results of a block's threads with the same lane, and gives the whole to all of them: warps by
// shuffles, then the warps by shared memory. Result has merged(other) and from_lane(xor_mask).
template <typename Result>
__device__ Result merge_rows(Result result, const ChannelThread& t, Result* scratch) {  // [kScratch], shared
  const int thread = t.row * t.lanes + t.lane, warps = t.lanes * t.rows / 32;
  for (int distance = 16; distance >= t.lanes; distance /= 2)
    result = result.merged(result.from_lane(distance));
  if (thread % 32 < t.lanes) scratch[thread / 32 * t.lanes + t.lane] = result;
  __syncthreads();
  result = scratch[t.lane];
  for (int warp = 1; warp < warps; ++warp) result = result.merged(scratch[warp * t.lanes + t.lane]);
  __syncthreads();  // scratch is free again
  return result;
}

// k sums at once.
template <int k>
struct Sums {
  double at[k];
  __device__ Sums merged(Sums other) const {
    for (int i = 0; i < k; ++i) other.at[i] = at[i] + other.at[i];
    return other;
  }
  __device__ Sums from_lane(int xor_mask) const {
    Sums other;
    for (int i = 0; i < k; ++i) other.at[i] = __shfl_xor_sync(0xffffffffu, at[i], xor_mask);
    return other;
  }
};

}  // namespace lathe::kernels
