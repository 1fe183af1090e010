// Batch normalisation, rung 1: mean first, then variance.  Training, forward and backward; any layout, fp32.
//
// Idea.        The definitions, one sum at a time: a block sums its channels for the mean, and again for
//              the squared distances from it. E[x²] − E[x]² would save the second pass and lose everything
//              where the mean is large. The sums are in double.
// Bytes.       Forward 12 read and 4 written an element; backward 20 read (dy three times, x twice) and 4
//              written.
// Operations.  Forward 7 an element, four of them in double; backward 10.
// Bound.       Memory bandwidth; on most GPUs the additions in double, of which they do 1/32 or 1/64 as
//              many.
#include "kernels/batchnorm/normalise.cuh"

namespace lathe::kernels {
namespace {

__global__ void statistics_01_two_pass(BatchNorm p) {
  __shared__ Sums<1> scratch[kScratch];
  const ChannelThread t = channel_thread();
  const double count = static_cast<double>(p.shape.samples * p.shape.spatial);

  Sums<1> sum{};
  for_each_in_channel(p.shape, t, [&](int64_t i) { sum.at[0] += static_cast<double>(p.x[i]); });
  const double mean = merge_rows(sum, t, scratch).at[0] / count;

  Sums<1> squares{};
  for_each_in_channel(p.shape, t, [&](int64_t i) {
    const double distance = static_cast<double>(p.x[i]) - mean;
    squares.at[0] += distance * distance;
  });
  squares = merge_rows(squares, t, scratch);
  if (t.row == 0 && t.channel < p.shape.channels()) store_statistics(p, t.channel, mean, squares.at[0]);
}

__global__ void gradient_01_two_pass(BatchNormGradient p) {
  __shared__ Sums<1> scratch[kScratch];
  const ChannelThread t = channel_thread();
  const bool inside = t.channel < p.shape.channels();
  const float mean = inside ? p.mean[t.channel] : 0;
  const float deviation = inside ? inverse_deviation(p.variance[t.channel], p.epsilon) : 0;

  Sums<1> dbeta{}, dgamma{};
  for_each_in_channel(p.shape, t, [&](int64_t i) { dbeta.at[0] += static_cast<double>(p.dy[i]); });
  dbeta = merge_rows(dbeta, t, scratch);
  for_each_in_channel(p.shape, t, [&](int64_t i) {
    dgamma.at[0] += static_cast<double>(p.dy[i]) * static_cast<double>((p.x[i] - mean) * deviation);
  });
  dgamma = merge_rows(dgamma, t, scratch);
  if (t.row != 0 || !inside) return;
  p.dbeta[t.channel] = static_cast<float>(dbeta.at[0]);
  p.dgamma[t.channel] = static_cast<float>(dgamma.at[0]);
}

}  // namespace

void batch_norm_two_pass(const BatchNorm& p, cudaStream_t stream) {
  const ChannelGrid threads = channel_grid(p.shape);
  launch<statistics_01_two_pass>(threads.blocks, threads.block, 0, stream, p);
  normalise(p.x, p.gamma, p.beta, p.mean, p.variance, p.y, p.shape, p.epsilon, p.workspace, AsItIs(), stream);
}

void batch_norm_two_pass(const BatchNormGradient& p, cudaStream_t stream) {
  const ChannelGrid threads = channel_grid(p.shape);
  launch<gradient_01_two_pass>(threads.blocks, threads.block, 0, stream, p);
  spread_gradient(p, AsItIs(), stream);
}

}  // namespace lathe::kernels
