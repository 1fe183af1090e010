// Kernels that are right: barriers, warp operations, flat loops, each in every order of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "hostcuda/hostcuda.h"
#include "hostcuda/portable/launch.h"
#include "tests/hostcuda/device_array.h"

namespace {

using lathe::blocks_for;
using lathe::launch;
using lathe::launch_flat;

constexpr const char* kOrders[] = {"forward", "reverse", "random:1", "random:2"};

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
      ASSERT_EQ((launch<matmul_tiled<16>>({blocks_for(N, 16), blocks_for(M, 16)}, {16, 16}, 0, nullptr,
                                          A.data(), B.data(), C.data(), M, N, K)),
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
    ASSERT_EQ(launch_flat<scale<float>>(blocks_for(n, 256), 256, nullptr, x.data(), y.data(), 3, n),
              cudaSuccess);
    std::vector<float> from = x.host(), to = y.host();
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(to[i], 3 * from[i]) << i << " of " << n;
    for (size_t i = n; i < to.size(); ++i) ASSERT_EQ(to[i], -1.0f) << "wrote past the end at " << i;
  }
}

template <typename T>
__global__ void scale_unmarked(const T* x, T* y, T factor, int64_t n) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = factor * x[i];
}

// Writes its own coordinates: y[z][y][x] of a grid of blocks in three dimensions.
__global__ void coordinates(int* out, int width, int height LATHE_FLAT) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  bool in_grid = gridDim.x == 3u && gridDim.y == 2u && gridDim.z == 2u;
  out[(z * height + y) * width + x] = in_grid ? x + 100 * y + 10000 * z : -1;
}
__global__ void coordinates_unmarked(int* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  out[(z * height + y) * width + x] = x + 100 * y + 10000 * z;
}

TEST_F(Kernels, EveryKindOfLaunchNumbersItsThreadsAlike) {
  const dim3 grid(3, 2, 2), block(4, 3, 2);
  const int width = 12, height = 6, depth = 4;
  DeviceArray<int> flat(width * height * depth), unmarked(width * height * depth),
      threads(width * height * depth), pointer(width * height * depth);
  ASSERT_EQ(launch_flat<coordinates>(grid, block, nullptr, flat.data(), width, height), cudaSuccess);
  ASSERT_EQ(launch_flat<coordinates_unmarked>(grid, block, nullptr, unmarked.data(), width, height),
            cudaSuccess);
  ASSERT_EQ(launch<coordinates_unmarked>(grid, block, 0, nullptr, threads.data(), width, height),
            cudaSuccess);
  ASSERT_EQ(launch(coordinates_unmarked, grid, block, 0, nullptr, pointer.data(), width, height),
            cudaSuccess);
  std::vector<int> expected;
  for (int z = 0; z < depth; ++z) {
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) expected.push_back(x + 100 * y + 10000 * z);
    }
  }
  EXPECT_EQ(flat.host(), expected);
  EXPECT_EQ(unmarked.host(), expected);
  EXPECT_EQ(threads.host(), expected);
  EXPECT_EQ(pointer.host(), expected);
}

// Two outputs, an early return, 32-bit indices: what flat kernels may also do.
__global__ void split(const float* x, float* positive, float* negative, int n LATHE_FLAT) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  positive[i] = x[i] > 0.0f ? x[i] : 0.0f;
  negative[i] = x[i] < 0.0f ? x[i] : 0.0f;
}

TEST_F(Kernels, FlatKernelWithEarlyReturn) {
  const int n = 1000;
  DeviceArray<float> x(ramp(n)), positive(n + 24), negative(n + 24);
  ASSERT_EQ(
      launch_flat<split>(blocks_for(n, 128), 128, nullptr, x.data(), positive.data(), negative.data(), n),
      cudaSuccess);
  std::vector<float> from = x.host(), p = positive.host(), m = negative.host();
  for (int i = 0; i < n; ++i) ASSERT_EQ(p[i] + m[i], from[i]);
  for (int i = n; i < n + 24; ++i) ASSERT_EQ(p[i], 0.0f);
}

// Sum of each block's part of x, in 64-bit integers so that every order gives the same bits. Threads beyond n
// return before the barriers, which is legal: a barrier waits for those that have not.
__global__ void block_sums(const int* x, long long* sums, int n, bool return_early) {
  LATHE_DYNAMIC_SHARED(long long, of_warp);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
  if (return_early && i >= n) return;
  if (threadIdx.x < blockDim.x / warpSize) of_warp[threadIdx.x] = 0;
  __syncthreads();
  const unsigned int mask = __ballot_sync(__activemask(), i < n);
  if (i < n) {
    long long value = x[i];
    for (int delta = 16; delta > 0; delta /= 2) {
      long long other = __shfl_down_sync(mask, value, delta + lane < __popc(mask) ? delta : 0);
      if (delta + lane < __popc(mask)) value += other;
    }
    if (lane == 0) of_warp[warp] = value;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    long long total = 0;
    for (unsigned int w = 0; w < blockDim.x / warpSize; ++w) total += of_warp[w];
    sums[blockIdx.x] = total;
  }
}

TEST_F(Kernels, BlockReduceWithEarlyReturnInEveryOrder) {
  const int n = 1000, threads = 128, blocks = 8;
  std::vector<int> x(n);
  std::vector<long long> expected(blocks);
  for (int i = 0; i < n; ++i) {
    x[i] = i * i - 7 * i;
    expected[i / threads] += x[i];
  }
  DeviceArray<int> X(x);
  hostcuda::set_poison_shared(true);
  for (const char* order : kOrders) {
    for (bool early : {false, true}) {
      hostcuda::set_thread_order(order);
      DeviceArray<long long> sums(blocks);
      ASSERT_EQ(launch<block_sums>(blocks, threads, threads / 32 * sizeof(long long), nullptr, X.data(),
                                   sums.data(), n, early),
                cudaSuccess);
      EXPECT_EQ(sums.host(), expected) << order << (early ? ", early return" : "");
    }
  }
}

struct Shuffled {
  int index, wrapped, up, down, xor_, segment, segment_up;
  unsigned int ballot;
  int any, all, count, every, some;
  bool operator==(const Shuffled&) const = default;
};

__global__ void shuffle_everything(Shuffled* out) {
  const unsigned int full = 0xffffffffu;
  const int t = threadIdx.x, v = 3 * t + 1;
  Shuffled r{};
  r.index = __shfl_sync(full, v, 5);
  r.wrapped = __shfl_sync(full, v, t + 33);
  r.up = __shfl_up_sync(full, v, 3);
  r.down = __shfl_down_sync(full, v, 30);
  r.xor_ = __shfl_xor_sync(full, v, 17);
  r.segment = __shfl_sync(full, v, 9, 8);
  r.segment_up = __shfl_up_sync(full, v, 2, 4);
  r.ballot = __ballot_sync(full, t % 3 == 0);
  r.any = __any_sync(full, t == 40);
  r.all = __all_sync(full, t < 64 && t != 40);
  r.count = __syncthreads_count(t % 5 == 0);
  r.every = __syncthreads_and(t < 96);
  r.some = __syncthreads_or(t == 77);
  out[t] = r;
}

TEST_F(Kernels, WarpOperationsFollowPtx) {
  const int threads = 96;
  std::vector<Shuffled> expected;
  auto v = [](int t) { return 3 * t + 1; };
  for (int t = 0; t < threads; ++t) {
    const int w = t / 32 * 32, lane = t % 32;
    Shuffled r{};
    r.index = v(w + 5);
    r.wrapped = v(w + (t + 33) % 32);
    r.up = v(lane >= 3 ? t - 3 : t);
    r.down = v(lane < 2 ? t + 30 : t);
    r.xor_ = v(t ^ 17);
    r.segment = v(t / 8 * 8 + 1);
    r.segment_up = v(t % 4 >= 2 ? t - 2 : t);
    for (int k = 0; k < 32; ++k) r.ballot |= ((w + k) % 3 == 0 ? 1u : 0u) << k;
    r.any = w == 32;
    r.all = w == 0;
    r.count = 20;
    r.every = 1;
    r.some = 1;
    expected.push_back(r);
  }
  for (const char* order : kOrders) {
    hostcuda::set_thread_order(order);
    DeviceArray<Shuffled> out(threads);
    ASSERT_EQ(launch<shuffle_everything>(1, threads, 0, nullptr, out.data()), cudaSuccess);
    EXPECT_EQ(out.host(), expected) << order;
  }
}

// Lanes of one warp in two groups, each with its own mask and its own number of operations.
__global__ void groups(int* out) {
  const int lane = threadIdx.x % 32;
  int value = threadIdx.x;
  if (lane < 12) {
    for (int i = 0; i < 3; ++i) value = __shfl_sync(0x00000fffu, value, (lane + 1) % 12);
  } else {
    value = __shfl_xor_sync(0xfffff000u, value, 1);
    __syncwarp(0xfffff000u);
  }
  out[threadIdx.x] = value;
}

TEST_F(Kernels, GroupsOfLanesDoNotDisturbEachOther) {
  for (const char* order : kOrders) {
    hostcuda::set_thread_order(order);
    DeviceArray<int> out(64);
    ASSERT_EQ(launch<groups>(1, 64, 0, nullptr, out.data()), cudaSuccess);
    std::vector<int> got = out.host();
    for (int t = 0; t < 64; ++t) {
      int lane = t % 32, expected = lane < 12 ? t - lane + (lane + 3) % 12 : t ^ 1;
      EXPECT_EQ(got[t], expected) << order << " thread " << t;
    }
  }
}

__global__ void count_everything(int* counter, float* sum, unsigned int* largest, unsigned long long* bits) {
  atomicAdd(counter, 1);
  atomicAdd(sum, 0.5f);
  atomicMax(largest, blockIdx.x * blockDim.x + threadIdx.x);
  atomicOr(bits, 1ull << (threadIdx.x % 64));
  __threadfence();
}

TEST_F(Kernels, AtomicsOverManyBlocksAndThreads) {
  hostcuda::set_threads(4);
  DeviceArray<int> counter(1);
  DeviceArray<float> sum(1);
  DeviceArray<unsigned int> largest(1);
  DeviceArray<unsigned long long> bits(1);
  ASSERT_EQ(
      launch<count_everything>(50, 128, 0, nullptr, counter.data(), sum.data(), largest.data(), bits.data()),
      cudaSuccess);
  EXPECT_EQ(counter.host()[0], 6400);
  EXPECT_EQ(sum.host()[0], 3200.0f);
  EXPECT_EQ(largest.host()[0], 6399u);
  EXPECT_EQ(bits.host()[0], ~0ull);
}

__global__ void barrier_in_loop(int* out, int rounds) {
  __shared__ int turn[128];
  turn[threadIdx.x] = threadIdx.x;
  for (int i = 0; i < rounds; ++i) {
    __syncthreads();
    int next = turn[(threadIdx.x + 1) % blockDim.x];
    __syncthreads();
    turn[threadIdx.x] = next;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = turn[threadIdx.x];
}

TEST_F(Kernels, ManyBlocksOnManyCpuThreadsKeepTheirSharedMemoryApart) {
  const int blocks = 40, threads = 128, rounds = 5;
  hostcuda::set_threads(4);
  DeviceArray<int> out(blocks * threads);
  ASSERT_EQ(launch<barrier_in_loop>(blocks, threads, 0, nullptr, out.data(), rounds), cudaSuccess);
  std::vector<int> got = out.host();
  for (int i = 0; i < blocks * threads; ++i) ASSERT_EQ(got[i], (i % threads + rounds) % threads);
}

__global__ void read_shared(float* out) {
  LATHE_DYNAMIC_SHARED(float, values);
  out[threadIdx.x] = values[threadIdx.x];
}

TEST_F(Kernels, PoisonedMemoryIsNan) {
  hostcuda::set_poison_shared(true);
  hostcuda::set_poison_memory(true);
  DeviceArray<float> out(64);
  ASSERT_EQ(launch<read_shared>(1, 64, 64 * sizeof(float), nullptr, out.data()), cudaSuccess);
  for (float value : out.host()) EXPECT_TRUE(std::isnan(value));
  float* fresh = nullptr;
  float value = 0.0f;
  ASSERT_EQ(cudaMalloc(&fresh, 4), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(&value, fresh, 4, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_TRUE(std::isnan(value));
  cudaFree(fresh);
}

// min and max choose the type as CUDA's do, and a NaN loses.
TEST_F(Kernels, MinAndMaxAreCudas) {
  EXPECT_EQ(min(-1, 1u), 1u);
  EXPECT_EQ(max(-1, 1u), 4294967295u);
  EXPECT_EQ(min(3, 4), 3);
  EXPECT_EQ(max(1.5f, NAN), 1.5f);
  EXPECT_EQ(min(NAN, 1.5f), 1.5f);
  EXPECT_EQ(min(5ll, 3ll), 3ll);
  volatile float nan = NAN, one = 1.0f, two = 2.0f;  // not folded by the compiler
  EXPECT_EQ(fmaxf(one, two), 2.0f);
  EXPECT_EQ(fminf(one, two), 1.0f);
  EXPECT_EQ(fmaxf(nan, one), 1.0f);
  EXPECT_EQ(fmaxf(one, nan), 1.0f);
  EXPECT_EQ(fminf(nan, one), 1.0f);
  EXPECT_EQ(fminf(one, nan), 1.0f);
  EXPECT_TRUE(std::isnan(fmaxf(nan, nan)));
}

}  // namespace
