// Batch normalisation, rung 2: mean and variance in one pass.  Training, forward and backward; any layout,
// fp32.
//
// Idea.        Welford (1962): each value moves the mean so far and adds to the squared distances from it,
//              which stays exact in fp32. Threads' results merge by the formula of Chan, Golub and LeVeque
//              (1979). Backward, both sums are taken in one pass (normalise.cuh).
// Bytes.       Forward 8 read and 4 written an element; backward 16 read and 4 written.
// Operations.  Forward 9 an element, one of them a division, all in fp32; backward 10.
// Bound.       Memory bandwidth.
#include "kernels/batchnorm/normalise.cuh"

namespace lathe::kernels {
namespace {

// Of the values seen so far.
struct Moments {
  float count, mean;
  float squares;  // Σ (x − mean)²

  __device__ void add(float x) {
    const float distance = x - mean;
    count += 1;
    mean += distance / count;
    squares += distance * (x - mean);
  }
  __device__ Moments merged(Moments other) const {
    const float total = count + other.count, distance = other.mean - mean;
    if (total == 0) return other;
    const float share = other.count / total;
    return {total, mean + distance * share, squares + other.squares + distance * distance * count * share};
  }
  __device__ Moments from_lane(int xor_mask) const {
    return {__shfl_xor_sync(0xffffffffu, count, xor_mask), __shfl_xor_sync(0xffffffffu, mean, xor_mask),
            __shfl_xor_sync(0xffffffffu, squares, xor_mask)};
  }
};

__global__ void statistics_02_welford(BatchNorm p) {
  __shared__ Moments scratch[kScratch];
  const ChannelThread t = channel_thread();
  Moments moments{};
  for_each_in_channel(p.shape, t, [&](int64_t i) { moments.add(p.x[i]); });
  moments = merge_rows(moments, t, scratch);
  if (t.row == 0 && t.channel < p.shape.channels())
    store_statistics(p, t.channel, static_cast<double>(moments.mean), static_cast<double>(moments.squares));
}

}  // namespace

void batch_norm_welford_statistics(const BatchNorm& p, cudaStream_t stream) {
  const ChannelGrid threads = channel_grid(p.shape);
  launch<statistics_02_welford>(threads.blocks, threads.block, 0, stream, p);
}

void batch_norm_welford(const BatchNorm& p, cudaStream_t stream) {
  batch_norm_welford_statistics(p, stream);
  normalise(p.x, p.gamma, p.beta, p.mean, p.variance, p.y, p.shape, p.epsilon, p.workspace, AsItIs(), stream);
}

void batch_norm_welford(const BatchNormGradient& p, cudaStream_t stream) { gradient(p, AsItIs(), stream); }

}  // namespace lathe::kernels
