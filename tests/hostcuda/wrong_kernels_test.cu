// Kernels that are wrong: each is named with its kernel, block and thread, and its right twin is not accused.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "hostcuda/hostcuda.h"
#include "hostcuda/portable/launch.h"

namespace {

using lathe::launch;
using lathe::launch_flat;

class WrongKernels : public testing::Test {
 protected:
  void SetUp() override { hostcuda::reset_for_tests(); }
  void TearDown() override { hostcuda::reset_for_tests(); }

  // Runs a kernel of 2 blocks of 64 threads; returns what stderr got.
  template <auto Kernel, typename... Args>
  std::string complaint(Args... args) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(launch<Kernel>(2, 64, 0, nullptr, args...), cudaSuccess);
    result_ = cudaDeviceSynchronize();
    return testing::internal::GetCapturedStderr();
  }
  cudaError_t result_ = cudaSuccess;
};

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

__global__ void two_barriers(bool divergent) {
  if (divergent && blockIdx.x == 1 && threadIdx.x >= 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

TEST_F(WrongKernels, DivergentBarrierIsNamed) {
  EXPECT_EQ(complaint<two_barriers>(false), "");
  EXPECT_EQ(result_, cudaSuccess);
  std::string text = complaint<two_barriers>(true);
  EXPECT_EQ(result_, cudaErrorLaunchFailure);
  EXPECT_HAS(text, "two_barriers");
  EXPECT_HAS(text, "block (1,0,0), thread (32,0,0): divergent barrier");
  EXPECT_HAS(text, "wrong_kernels_test.cu:");
}

__global__ void barrier_and_vote(int votes) {
  if (static_cast<int>(threadIdx.x) < votes) {
    __syncthreads_count(1);
  } else {
    __syncthreads();
  }
}

TEST_F(WrongKernels, MixedKindsOfBarrierAreNamed) {
  EXPECT_EQ(complaint<barrier_and_vote>(64), "");
  EXPECT_HAS(complaint<barrier_and_vote>(32), "divergent barrier");
}

// Half of a warp waits at the block's barrier, the other half for the whole warp: nobody can go on.
__global__ void stuck(bool wrong) {
  if (wrong && threadIdx.x % 32 < 16) {
    __syncthreads();
  } else {
    __syncwarp(0xffffffffu);
    __syncthreads();
  }
}

TEST_F(WrongKernels, DeadlockTellsWhereThreadsWait) {
  EXPECT_EQ(complaint<stuck>(false), "");
  std::string text = complaint<stuck>(true);
  EXPECT_EQ(result_, cudaErrorLaunchFailure);
  EXPECT_HAS(text, "deadlock");
  EXPECT_HAS(text, "waits at __syncthreads");
  EXPECT_HAS(text, "waits at __syncwarp with mask 0xffffffff");
}

__global__ void masks(int* out, bool wrong) {
  const int lane = threadIdx.x % 32;
  unsigned int mask = lane < 16 ? 0x0000ffffu : 0xffff0000u;
  if (wrong && lane == 20) mask = 0xffffffffu;
  int value = __shfl_xor_sync(mask, lane, 1);
  if (out != nullptr) out[threadIdx.x] = value;
}

TEST_F(WrongKernels, MismatchedShuffleMaskIsNamed) {
  EXPECT_EQ(complaint<masks>(static_cast<int*>(nullptr), false), "");
  for (const char* order : {"forward", "reverse", "random:3"}) {
    hostcuda::reset_for_tests();
    hostcuda::set_thread_order(order);
    std::string text = complaint<masks>(static_cast<int*>(nullptr), true);
    EXPECT_EQ(result_, cudaErrorLaunchFailure) << order;
    EXPECT_HAS(text, "__shfl_xor_sync");
    EXPECT_HAS(text, "mask 0x");
  }
}

__global__ void mask_without_caller() { __syncwarp(0x7fffffffu); }

TEST_F(WrongKernels, MaskWithoutTheCallerIsNamed) {
  EXPECT_HAS(complaint<mask_without_caller>(), "thread (31,0,0): __syncwarp");
}

__global__ void read_from(int source, int leave) {
  if (static_cast<int>(threadIdx.x % 32) == leave) return;
  __shfl_sync(leave < 0 ? 0x0000ffffu | 1u << (threadIdx.x % 32) | 0xffff0000u : 0xffffffffu, 1, source);
}

TEST_F(WrongKernels, ReadingALaneThatReturnedIsNamed) {
  EXPECT_EQ(complaint<read_from>(3, -1), "");
  EXPECT_EQ(complaint<read_from>(3, 5), "");  // a lane that returned may be missing, but not be read
  EXPECT_HAS(complaint<read_from>(5, 5), "reads lane 5, which has returned");
}

__global__ void throws(bool wrong) {
  __syncthreads();
  if (wrong && blockIdx.x == 1 && threadIdx.x == 40) throw std::runtime_error("no such case");
  __syncthreads();
}

__global__ void catches(int* caught) {
  __syncthreads();
  try {
    if (threadIdx.x % 2 == 0) throw std::runtime_error("even");
  } catch (const std::runtime_error&) {
    atomicAdd(caught, 1);
  }
  __syncthreads();
}

TEST_F(WrongKernels, ExceptionsInsideAKernelAreItsOwnAffair) {
  int* caught = nullptr;
  ASSERT_EQ(cudaMalloc(&caught, sizeof(int)), cudaSuccess);
  ASSERT_EQ(cudaMemset(caught, 0, sizeof(int)), cudaSuccess);
  EXPECT_EQ(complaint<catches>(caught), "");
  int count = 0;
  ASSERT_EQ(cudaMemcpy(&count, caught, sizeof(int), cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(count, 64);
  cudaFree(caught);

  EXPECT_EQ(complaint<throws>(false), "");
  EXPECT_HAS(complaint<throws>(true), "block (1,0,0), thread (40,0,0): uncaught exception: no such case");
  EXPECT_EQ(result_, cudaErrorLaunchFailure);
}

__global__ void flat_with_barrier(float* x, int n LATHE_FLAT) {
  if (static_cast<int>(threadIdx.x) < n) __syncthreads();
  if (x != nullptr) x[threadIdx.x] = 1.0f;
}

TEST_F(WrongKernels, FlatLaunchOfAKernelThatWaits) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(launch_flat<flat_with_barrier>(1, 64, nullptr, nullptr, 3), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_HAS(testing::internal::GetCapturedStderr(), "launched with launch_flat, but waits at");
}

// The first error stays, and is told once.
TEST_F(WrongKernels, ErrorsInKernelsAreSticky) {
  cudaStream_t stream = nullptr;
  void* memory = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&memory, 16), cudaSuccess);
  testing::internal::CaptureStderr();
  EXPECT_EQ(launch<throws>(2, 64, 0, stream, true), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorLaunchFailure);
  void* other = nullptr;
  EXPECT_EQ(cudaMalloc(&other, 16), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(launch<mask_without_caller>(1, 32, 0, stream), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaMemsetAsync(memory, 0, 16, stream), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaFree(memory), cudaErrorLaunchFailure);
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("hostcuda:"), text.rfind("hostcuda:")) << text;
}

// A wrong argument is that call's error alone.
TEST_F(WrongKernels, WrongLaunchesAreRefusedAndNotSticky) {
  EXPECT_EQ(launch<two_barriers>(1, 1025, 0, nullptr, false), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch<two_barriers>(0, 32, 0, nullptr, false), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch<two_barriers>(dim3(1, 70000), 32, 0, nullptr, false), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch<two_barriers>(1, dim3(1, 1, 65), 0, nullptr, false), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch<two_barriers>(1, 32, 228 * 1024, nullptr, false), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(launch<two_barriers>(1, 32, 227 * 1024, nullptr, false), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(WrongKernels, ALaunchCanBeMadeToFail) {
  hostcuda::fail_launch(2);
  EXPECT_EQ(launch<two_barriers>(1, 32, 0, nullptr, false), cudaSuccess);
  EXPECT_EQ(launch<two_barriers>(1, 32, 0, nullptr, false), cudaErrorLaunchOutOfResources);
  EXPECT_EQ(launch<two_barriers>(1, 32, 0, nullptr, false), cudaSuccess);
}

#ifdef __SANITIZE_ADDRESS__
__global__ void store_at(float* x, int i) { x[i] = 1.0f; }
__global__ void store_shared_at(int i) {
  LATHE_DYNAMIC_SHARED(float, x);
  x[i] = 1.0f;
}

TEST(WrongKernelsDeathTest, StoresOutOfBoundsAreReported) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto out_of_bounds = [](int i, bool pool) {
    float* x = nullptr;
    if (pool) {
      cudaMallocAsync(&x, 100 * sizeof(float), nullptr);
    } else {
      cudaMalloc(&x, 100 * sizeof(float));
    }
    launch<store_at>(1, 1, 0, nullptr, x, i);
    cudaDeviceSynchronize();
    cudaFree(x);
  };
  out_of_bounds(99, false);
  EXPECT_DEATH(out_of_bounds(100, false), "heap-buffer-overflow");
  EXPECT_DEATH(out_of_bounds(-1, true), "heap-buffer-overflow");
  EXPECT_DEATH(
      {
        launch<store_shared_at>(1, 1, 40, nullptr, 10);
        cudaDeviceSynchronize();
      },
      "use-after-poison");
}
#else
// The compiler must not see through the recursion.
__global__ void recurse(int depth, volatile char* top) {
  volatile char frame[512];
  frame[0] = static_cast<char>(depth);
  if (depth > 0) recurse(depth - 1, frame);
  if (top != nullptr) top[0] = frame[0];
}

TEST(WrongKernelsDeathTest, StackOverflowHitsTheGuardPage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        launch<recurse>(1, 1, 0, nullptr, 100000, nullptr);
        cudaDeviceSynchronize();
      },
      "");
}
#endif

}  // namespace
