// Batch normalisation with the running statistics: the elementwise half of training.
#include "kernels/batchnorm/inference.h"

#include "kernels/batchnorm/normalise.cuh"

namespace lathe::kernels {

void batch_norm_inference(const float* x, const float* gamma, const float* beta, const float* mean,
                          const float* variance, float* y, const Activation& shape, double epsilon,
                          float* workspace, cudaStream_t stream) {
  normalise(x, gamma, beta, mean, variance, y, shape, epsilon, workspace, AsItIs(), stream);
}

}  // namespace lathe::kernels
