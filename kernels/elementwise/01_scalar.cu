// Elementwise, rung 1: one thread an element.  bias + ReLU, dropout, addition; fp32, fp16 and bf16.
//
// Idea.        The definitions, written down: consecutive threads on consecutive addresses, so that a
//              warp's request is full sectors. Nothing is used twice, so there is little else to gain.
// Bytes.       An element size read and one written; addition reads two. In 16 bit a warp asks for 64 bytes
//              at a time: more requests are needed to keep the memory busy.
// Operations.  Bias + ReLU two an element and the index of its channel; addition one; dropout about 60
//              integer operations, Philox, of whose four words each thread throws three away.
// Bound.       Memory bandwidth; dropout and 16 bit the instructions.
#include "hostcuda/portable/launch.h"
#include "kernels/elementwise/ladder.h"
#include "kernels/random/philox.h"

namespace lathe::kernels {
namespace {

constexpr int kThreads = 256;

template <typename T>
__global__ void bias_relu_01_scalar(BiasRelu<T> p LATHE_FLAT) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= p.n) return;
  const float sum = float(p.x[i]) + float(p.bias[i / p.inner % p.channels]);
  p.y[i] = T(sum < 0 ? 0 : sum);
}

template <typename T>
__global__ void dropout_01_scalar(Dropout<T> p, float factor LATHE_FLAT) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= p.n) return;
  const uint64_t stream =
      random_stream(RandomUse::dropout, static_cast<uint64_t>(p.layer), static_cast<uint64_t>(*p.step));
  const Philox4 words = philox(static_cast<uint64_t>(*p.seed), stream, static_cast<uint64_t>(i / 4));
  const bool kept = uniform(words[static_cast<int>(i % 4)]) >= static_cast<float>(p.p);
  p.y[i] = T(kept ? float(p.x[i]) * factor : 0);
}

template <typename T>
__global__ void add_01_scalar(Add<T> p LATHE_FLAT) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < p.n) p.y[i] = T(float(p.a[i]) + float(p.b[i]));
}

template <typename T>
void start(const BiasRelu<T>& p, cudaStream_t stream) {
  launch_flat<bias_relu_01_scalar<T>>(blocks_for(p.n, kThreads), kThreads, stream, p);
}
template <typename T>
void start(const Dropout<T>& p, cudaStream_t stream) {
  launch_flat<dropout_01_scalar<T>>(blocks_for(p.n, kThreads), kThreads, stream, p,
                                    static_cast<float>(1 / (1 - p.p)));
}
template <typename T>
void start(const Add<T>& p, cudaStream_t stream) {
  launch_flat<add_01_scalar<T>>(blocks_for(p.n, kThreads), kThreads, stream, p);
}

}  // namespace

template <typename Problem>
void elementwise_scalar(const Problem& problem, cudaStream_t stream) {
  start(problem, stream);
}
LATHE_ELEMENTWISE_INSTANCES(elementwise_scalar);

}  // namespace lathe::kernels
