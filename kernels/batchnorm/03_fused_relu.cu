// Batch normalisation, rung 3: with the ReLU that follows.  Training, forward and backward; any layout, fp32.
//
// Idea.        Forward, y is clamped while it is still in a register. Backward, y itself tells where the
//              ReLU was closed, and dy is masked as it is read, by the sums and again by dx: no masked
//              gradient is ever stored. Statistics are rung 2's; where the two functors act is in
//              normalise.cuh.
// Bytes.       Forward 8 read and 4 written an element, and none for the ReLU, which alone moves 8.
//              Backward 24 read and 4 written, where rung 2 and a ReLU of its own move 32.
// Operations.  Forward 10 an element; backward 12.
// Bound.       Memory bandwidth.
#include "kernels/batchnorm/normalise.cuh"

namespace lathe::kernels {
namespace {

struct Relu {
  __device__ float operator()(float value) const { return value < 0 ? 0 : value; }  // NaN stays
};

struct WhereOpen {
  const float* y;  // [shape], the ReLU's output
  __device__ float operator()(const float* dy, int64_t i) const { return y[i] > 0 ? dy[i] : 0; }
};

}  // namespace

void batch_norm_fused_relu(const BatchNorm& p, cudaStream_t stream) {
  batch_norm_welford_statistics(p, stream);
  normalise(p.x, p.gamma, p.beta, p.mean, p.variance, p.y, p.shape, p.epsilon, p.workspace, Relu(), stream);
}

void batch_norm_fused_relu(const BatchNormGradient& p, cudaStream_t stream) {
  gradient(p, WhereOpen{p.y}, stream);
}

}  // namespace lathe::kernels
