// Kernels: barriers, warp operations, flat loops, each in every order of threads; and what a wrong kernel is told.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "hostcuda/hostcuda.h"
#include "hostcuda/portable/launch.h"

namespace {

using lathe::blocks_for;
using lathe::launch;
using lathe::launch_flat;

constexpr const char* kOrders[] = {"forward", "reverse", "random:1", "random:2"};

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::vector<T> values) : values_(std::move(values)) {
    EXPECT_EQ(cudaMalloc(&data_, values_.size() * sizeof(T)), cudaSuccess);
    cudaMemcpy(data_, values_.data(), values_.size() * sizeof(T), cudaMemcpyHostToDevice);
  }
  explicit DeviceArray(size_t count) : DeviceArray(std::vector<T>(count)) {}
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }
  T* data() { return data_; }
  std::vector<T> host() {
    EXPECT_EQ(cudaMemcpy(values_.data(), data_, values_.size() * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return values_;
  }

 private:
  std::vector<T> values_;
  T* data_ = nullptr;
};

std::vector<float> ramp(size_t count, float scale = 1.0f) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = scale * static_cast<float>(i % 251) - 40.0f;
  return values;
}

class Kernels : public testing::Test {
 protected:
  void SetUp() override { hostcuda::reset_for_tests(); }
  void TearDown() override { hostcuda::reset_for_tests(); }
};

// C[M,N] = A[M,K] B[K,N].
template <int kTile>
__global__ void matmul_tiled(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float a[kTile][kTile], b[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.0f;
  for (int k0 = 0; k0 < K; k0 += kTile) {
    const int ka = k0 + threadIdx.x, kb = k0 + threadIdx.y;
    a[threadIdx.y][threadIdx.x] = row < M && ka < K ? A[row * K + ka] : 0.0f;
    b[threadIdx.y][threadIdx.x] = kb < K && column < N ? B[kb * N + column] : 0.0f;
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
    __syncthreads();
  }
  if (row < M && column < N) C[row * N + column] = sum;
}

TEST_F(Kernels, TiledMatmulInEveryOrder) {
  const int M = 37, N = 70, K = 45;
  std::vector<float> a = ramp(M * K, 0.5f), b = ramp(K * N, 0.25f), expected(M * N);
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      float sum = 0;
      for (int k = 0; k < K; ++k) sum += a[i * K + k] * b[k * N + j];
      expected[i * N + j] = sum;
    }
  }
  DeviceArray<float> A(a), B(b);
  for (const char* order : kOrders) {
    for (int threads : {1, 3}) {
      hostcuda::set_thread_order(order);
      hostcuda::set_threads(threads);
      DeviceArray<float> C(M * N);
      ASSERT_EQ((launch<matmul_tiled<16>>({blocks_for(N, 16), blocks_for(M, 16)}, {16, 16}, 0, nullptr, A.data(),
                                          B.data(), C.data(), M, N, K)),
                cudaSuccess);
      std::vector<float> c = C.host();
      for (int i = 0; i < M * N; ++i) ASSERT_NEAR(c[i], expected[i], 1e-2f) << order << " at " << i;
    }
  }
}

template <typename T>
__global__ void scale(const T* x, T* y, T factor, int64_t n LATHE_FLAT) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = factor * x[i];
}

TEST_F(Kernels, FlatKernelTouchesExactlyItsElements) {
  for (int64_t n : {1, 255, 256, 257, 100003}) {
    DeviceArray<float> x(ramp(n)), y(std::vector<float>(n + 300, -1.0f));
    ASSERT_EQ(launch_flat<scale<float>>(blocks_for(n, 256), 256, nullptr, x.data(), y.data(), 3, n), cudaSuccess);
    std::vector<float> from = x.host(), to = y.host();
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(to[i], 3 * from[i]) << i << " of " << n;
    for (size_t i = n; i < to.size(); ++i) ASSERT_EQ(to[i], -1.0f) << "wrote past the end at " << i;
  }
}

}  // namespace
