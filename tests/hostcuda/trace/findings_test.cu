// Kernels that are wrong, one a kind, each with its clean twin: the wrong one is found, the twin is not
// accused, in every order of threads.
#include "tests/hostcuda/trace/traced_test.h"

namespace hostcuda::trace {
namespace {

using lathe::launch;

constexpr const char* kOrders[] = {"forward", "reverse", "random:1", "random:2", "preempt:3", "preempt:4"};

class TracedFindings : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { set_thread_order(GetParam()); }
  void TearDown() override { reset_for_tests(); }

  template <auto Kernel, typename... Args>
  std::vector<Finding> find(dim3 block, size_t shared_bytes, const Args&... args) {
    begin();
    launch<Kernel>(2, block, shared_bytes, nullptr, args...);
    std::vector<KernelTrace> traces = end();
    reset_for_tests();
    set_thread_order(GetParam());
    EXPECT_EQ(traces.size(), 1u);
    return traces.empty() ? std::vector<Finding>() : traces[0].findings;
  }
  static void expect_only(const std::vector<Finding>& findings, Kind kind) {
    ASSERT_FALSE(findings.empty()) << "nothing found";
    for (const Finding& f : findings) EXPECT_EQ(name_of(f.kind), std::string(name_of(kind))) << f.message;
    EXPECT_EQ(findings[0].file, "tests/hostcuda/trace/findings_test.cu");
    EXPECT_GT(findings[0].line, 0);
  }
  static void expect_clean(const std::vector<Finding>& findings) {
    for (const Finding& f : findings) ADD_FAILURE() << name_of(f.kind) << ": " << f.message << " " << f.line;
  }
};

template <bool kBarrier>
__global__ void shift_by_one(float* y) {
  __shared__ float values[64];
  const int i = static_cast<int>(threadIdx.x);
  values[i] = static_cast<float>(i);
  if (kBarrier) __syncthreads();
  y[i] = values[(i + 1) % 64];
}

// Without the barrier the word may not even have been written yet: that, too, is found, under some orders.
TEST_P(TracedFindings, MissingBarrierAfterWriting) {
  Device<float> y(64);
  std::vector<Finding> findings = find<shift_by_one<false>>(64, 0, y);
  EXPECT_TRUE(
      std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.kind == Kind::race; }));
  expect_clean(find<shift_by_one<true>>(64, 0, y));
}

template <bool kBarrier>
__global__ void reuse_tile(const float* x, float* y) {
  __shared__ float values[64];
  const int i = static_cast<int>(threadIdx.x);
  float sum = 0;
  for (int round = 0; round < 3; ++round) {
    values[i] = x[round * 64 + i];
    __syncthreads();
    sum += values[63 - i];
    if (kBarrier) __syncthreads();
  }
  y[i] = sum;
}

TEST_P(TracedFindings, MissingBarrierBeforeOverwriting) {
  Device<float> x(192), y(64);
  expect_only(find<reuse_tile<false>>(64, 0, x, y), Kind::race);
  expect_clean(find<reuse_tile<true>>(64, 0, x, y));
}

template <bool kSync>
__global__ void within_a_warp(float* y) {
  __shared__ float values[64];
  const int i = static_cast<int>(threadIdx.x), warp = i / 32 * 32;
  values[i] = static_cast<float>(i);
  if (kSync) __syncwarp();
  y[i] = values[warp + (i + 1) % 32];
}

TEST_P(TracedFindings, MissingWarpBarrier) {
  Device<float> y(64);
  std::vector<Finding> findings = find<within_a_warp<false>>(64, 0, y);
  EXPECT_TRUE(
      std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.kind == Kind::race; }));
  expect_clean(find<within_a_warp<true>>(64, 0, y));
}

template <bool kWhole>
__global__ void partly_written(float* y) {
  __shared__ float values[64];
  const int i = static_cast<int>(threadIdx.x);
  if (kWhole || i < 60) values[i] = 1;
  __syncthreads();
  y[i] = values[i];
}

TEST_P(TracedFindings, SharedMemoryReadBeforeItIsWritten) {
  Device<float> y(64);
  std::vector<Finding> findings = find<partly_written<false>>(64, 0, y);
  expect_only(findings, Kind::uninitialised);
  EXPECT_EQ(findings[0].count, 8) << "4 threads in each of 2 blocks";
  expect_clean(find<partly_written<true>>(64, 0, y));
}

// Two threads write two halves of one word.
template <typename T>
__global__ void narrow_neighbours(float* y) {
  __shared__ __align__(4) T values[64];
  const int i = static_cast<int>(threadIdx.x);
  values[i] = static_cast<T>(i);
  __syncthreads();
  y[i] = static_cast<float>(values[63 - i]);
}

TEST_P(TracedFindings, NeighboursInOneWordDoNotRace) {
  Device<float> y(64);
  expect_clean(find<narrow_neighbours<uint8_t>>(64, 0, y));
  expect_clean(find<narrow_neighbours<uint16_t>>(64, 0, y));
}

__global__ void read_at(const float* x, float* y, int offset) {
  y[threadIdx.x] = x[static_cast<int>(threadIdx.x) + offset];
}
__global__ void write_at(float* y, int offset) { y[static_cast<int>(threadIdx.x) + offset] = 1; }

TEST_P(TracedFindings, OutsideOfAnArray) {
  Device<float> x(100), y(32);
  std::vector<Finding> behind = find<read_at>(32, 0, x, y, 69);
  expect_only(behind, Kind::out_of_bounds);
  EXPECT_NE(behind[0].message.find("reads 4 bytes at byte 400 of an array of 400 bytes"), std::string::npos)
      << behind[0].message;
  if (std::string(GetParam()) == "forward") {
    EXPECT_EQ(behind[0].thread.x, 31u);
  }
  expect_only(find<read_at>(32, 0, x, y, -1), Kind::out_of_bounds);
  expect_only(find<write_at>(32, 0, y, 1), Kind::out_of_bounds);
  expect_clean(find<read_at>(32, 0, x, y, 68));
  expect_clean(find<write_at>(32, 0, y, 0));
}

__global__ void fill_dynamic(float* y, int n) {
  LATHE_DYNAMIC_SHARED(float, values);
  const int i = static_cast<int>(threadIdx.x);
  if (i < n) values[i] = 1;
  __syncthreads();
  y[i] = values[0];
}

TEST_P(TracedFindings, OutsideOfDynamicSharedMemory) {
  Device<float> y(64);
  expect_only(find<fill_dynamic>(64, 63 * 4, y, 64), Kind::out_of_bounds);
  expect_clean(find<fill_dynamic>(64, 63 * 4, y, 63));
}

__global__ void fill_static(float* y, int stride) {
  __shared__ float values[64];
  const int i = static_cast<int>(threadIdx.x);
  values[i * stride] = 1;
  __syncthreads();
  y[i] = values[0];
}

// What still lies in another static array goes unnoticed.
TEST_P(TracedFindings, OutsideOfStaticSharedMemory) {
  Device<float> y(64);
  expect_only(find<fill_static>(64, 0, y, 1 << 20), Kind::out_of_bounds);
  expect_clean(find<fill_static>(64, 0, y, 1));
}

__global__ void read_vector(const float* x, float4* y) {
  y[threadIdx.x] = reinterpret_cast<const float4*>(x)[threadIdx.x];
}

TEST_P(TracedFindings, MisalignedVector) {
  Device<float> x(132);
  Device<float4> y(32);
  expect_only(find<read_vector>(32, 0, x + 1, y), Kind::misaligned);
  expect_clean(find<read_vector>(32, 0, x + 4, y));
}

template <bool kAll>
__global__ void barrier_for_some(float* y) {
  if (kAll || threadIdx.x < 40) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  y[threadIdx.x] = 1;
}

TEST_P(TracedFindings, DivergentBarrier) {
  Device<float> y(64);
  expect_only(find<barrier_for_some<false>>(64, 0, y), Kind::divergent_barrier);
  expect_clean(find<barrier_for_some<true>>(64, 0, y));
}

__global__ void sum_of_half(float* y) {
  float value = 1;
  if (threadIdx.x < 16) value += __shfl_down_sync(0xffff0000u, value, 1);
  y[threadIdx.x] = value;
}

TEST_P(TracedFindings, WrongWarpMask) {
  Device<float> y(32);
  expect_only(find<sum_of_half>(32, 0, y), Kind::wrong_warp_operation);
}

// What was seen before the failure stays.
__global__ void fails_late(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x + 1000] = 0;
}

TEST_P(TracedFindings, FiguresSurviveAFailure) {
  Device<float> x(32), y(32);
  begin();
  launch<fails_late>(1, 32, 0, nullptr, x, y);
  std::vector<KernelTrace> traces = end();
  ASSERT_EQ(traces.size(), 1u);
  EXPECT_EQ(traces[0].figures.global_load.requests, 1);
  EXPECT_EQ(traces[0].figures.global_load.moved, 4);
  EXPECT_EQ(traces[0].findings.size(), 1u);
}

__global__ void shared_counter(int* y) {
  __shared__ int counter;
  if (threadIdx.x == 0) counter = 0;
  __syncthreads();
  atomicAdd(&counter, 1);
  __syncthreads();
  y[threadIdx.x] = counter;
}

TEST_P(TracedFindings, AtomicsDoNotRaceWithEachOther) {
  Device<int> y(64);
  expect_clean(find<shared_counter>(64, 0, y));
}

// Early return before a barrier is legal.
__global__ void early_return(float* y, int n) {
  __shared__ float values[64];
  const int i = static_cast<int>(threadIdx.x);
  if (i >= n) return;
  values[i] = 1;
  __syncthreads();
  y[i] = values[n - 1 - i];
}

TEST_P(TracedFindings, EarlyReturnIsLegal) {
  Device<float> y(64);
  expect_clean(find<early_return>(64, 0, y, 50));
}

std::string order_name(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Orders, TracedFindings, ::testing::ValuesIn(kOrders), order_name);

}  // namespace
}  // namespace hostcuda::trace
