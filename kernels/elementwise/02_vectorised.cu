// Elementwise, rung 2: 128 bits a thread.  bias + ReLU, dropout, addition; fp32, fp16 and bf16.
//
// Idea.        A thread takes 16 bytes, 4 or 8 neighbouring elements, with one load and one store: a
//              quarter or an eighth of the requests, and more bytes in flight. Dropout uses all four words
//              of a Philox counter, and the channel of a bias is divided out once. Where an address is not
//              a multiple of 16 the work goes to rung 1.
// Bytes.       An element size read and one written; addition reads two. A warp asks for 512 bytes at a
//              time.
// Operations.  Bias + ReLU two an element, addition one, dropout about 15 integer operations.
// Bound.       Memory bandwidth.
// Instructions. LDG.E.128; STG.E.128.
#include "hostcuda/portable/launch.h"
#include "kernels/elementwise/ladder.h"
#include "kernels/random/philox.h"
#include "kernels/vector.h"

namespace lathe::kernels {
namespace {

constexpr int kThreads = 256;
template <typename T>
constexpr int kWidth = 16 / sizeof(T);  // elements of a thread

template <typename T>
__global__ void bias_relu_02_vectorised(BiasRelu<T> p LATHE_FLAT) {
  const int64_t i = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) * kWidth<T>;
  if (i >= p.n) return;
  auto v = load_vector<kWidth<T>>(p.x, i, p.n);
  int64_t position = i % p.inner, channel = i / p.inner % p.channels;
  for (int k = 0; k < kWidth<T>; ++k) {
    const float sum = float(v.at[k]) + float(p.bias[channel]);
    v.at[k] = T(sum < 0 ? 0 : sum);
    if (++position == p.inner) {
      position = 0;
      if (++channel == p.channels) channel = 0;
    }
  }
  store_vector(p.y, i, p.n, v);
}

template <typename T>
__global__ void dropout_02_vectorised(Dropout<T> p, float factor LATHE_FLAT) {
  static_assert(kWidth<T> % 4 == 0, "a thread uses whole Philox counters");
  const int64_t i = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) * kWidth<T>;
  if (i >= p.n) return;
  auto v = load_vector<kWidth<T>>(p.x, i, p.n);
  const uint64_t stream =
      random_stream(RandomUse::dropout, static_cast<uint64_t>(p.layer), static_cast<uint64_t>(*p.step));
  for (int k = 0; k < kWidth<T>; k += 4) {
    const Philox4 words = philox(static_cast<uint64_t>(*p.seed), stream, static_cast<uint64_t>((i + k) / 4));
    for (int word = 0; word < 4; ++word) {
      const bool kept = uniform(words[word]) >= static_cast<float>(p.p);
      v.at[k + word] = T(kept ? float(v.at[k + word]) * factor : 0);
    }
  }
  store_vector(p.y, i, p.n, v);
}

template <typename T>
__global__ void add_02_vectorised(Add<T> p LATHE_FLAT) {
  const int64_t i = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) * kWidth<T>;
  if (i >= p.n) return;
  auto a = load_vector<kWidth<T>>(p.a, i, p.n);
  const auto b = load_vector<kWidth<T>>(p.b, i, p.n);
  for (int k = 0; k < kWidth<T>; ++k) a.at[k] = T(float(a.at[k]) + float(b.at[k]));
  store_vector(p.y, i, p.n, a);
}

template <typename T>
unsigned int blocks(int64_t n) {
  return blocks_for(n, kThreads * kWidth<T>);
}

template <typename T>
bool fits(const BiasRelu<T>& p) {
  return aligned_to(16, p.x, p.y);
}
template <typename T>
bool fits(const Dropout<T>& p) {
  return aligned_to(16, p.x, p.y);
}
template <typename T>
bool fits(const Add<T>& p) {
  return aligned_to(16, p.a, p.b, p.y);
}

template <typename T>
void start(const BiasRelu<T>& p, cudaStream_t stream) {
  launch_flat<bias_relu_02_vectorised<T>>(blocks<T>(p.n), kThreads, stream, p);
}
template <typename T>
void start(const Dropout<T>& p, cudaStream_t stream) {
  launch_flat<dropout_02_vectorised<T>>(blocks<T>(p.n), kThreads, stream, p,
                                        static_cast<float>(1 / (1 - p.p)));
}
template <typename T>
void start(const Add<T>& p, cudaStream_t stream) {
  launch_flat<add_02_vectorised<T>>(blocks<T>(p.n), kThreads, stream, p);
}

}  // namespace

template <typename Problem>
void elementwise_vectorised(const Problem& problem, cudaStream_t stream) {
  fits(problem) ? start(problem, stream) : elementwise_scalar(problem, stream);
}
LATHE_ELEMENTWISE_INSTANCES(elementwise_vectorised);

}  // namespace lathe::kernels
