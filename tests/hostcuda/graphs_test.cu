// Graph capture: the replay does what the capture saw, and what may not be captured is refused.
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "hostcuda/hostcuda.h"
#include "hostcuda/portable/launch.h"
#include "tests/hostcuda/device_array.h"

namespace {

using lathe::launch;
using lathe::launch_flat;

constexpr int kCount = 700;

__global__ void axpb(const int* x, int* y, int a, int b, int n LATHE_FLAT) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + b;
}
__global__ void sum(const int* x, const int* y, int* z, int n LATHE_FLAT) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
__global__ void rotate(int* x, int n) {  // within each block, through shared memory
  LATHE_DYNAMIC_SHARED(int, tile);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  if (i < n) x[i] = tile[(threadIdx.x + 1) % blockDim.x];
}

class Graphs : public testing::Test {
 protected:
  void SetUp() override {
    hostcuda::reset_for_tests();
    for (cudaStream_t* stream : {&a_, &b_}) {
      ASSERT_EQ(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), cudaSuccess);
    }
    for (cudaEvent_t* event : {&fork_, &join_}) {
      ASSERT_EQ(cudaEventCreateWithFlags(event, cudaEventDisableTiming), cudaSuccess);
    }
  }
  void TearDown() override {
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
    if (exec_ != nullptr) cudaGraphExecDestroy(exec_);
    cudaStreamDestroy(a_);
    cudaStreamDestroy(b_);
    cudaEventDestroy(fork_);
    cudaEventDestroy(join_);
    hostcuda::reset_for_tests();
  }
  void begin(cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
    ASSERT_EQ(cudaStreamBeginCapture(a_, mode), cudaSuccess);
  }
  void finish() {
    ASSERT_EQ(cudaStreamEndCapture(a_, &graph_), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&exec_, graph_), cudaSuccess);
  }
  size_t node_count() {
    size_t count = 0;
    EXPECT_EQ(cudaGraphGetNodes(graph_, nullptr, &count), cudaSuccess);
    return count;
  }
  cudaStream_t a_ = nullptr, b_ = nullptr;
  cudaEvent_t fork_ = nullptr, join_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

std::vector<int> ramp() {
  std::vector<int> values(kCount);
  for (int i = 0; i < kCount; ++i) values[i] = 3 * i - 50;
  return values;
}

TEST_F(Graphs, ReplayEqualsDirect) {
  DeviceArray<int> x(ramp()), y(kCount), z(kCount);
  int calls = 0;
  auto step = [&](int a) {
    ASSERT_EQ(cudaMemsetAsync(z.data(), 0, kCount * sizeof(int), a_), cudaSuccess);
    ASSERT_EQ(launch_flat<axpb>(3, 256, a_, x.data(), y.data(), a, 1, kCount), cudaSuccess);
    ASSERT_EQ(launch<rotate>(6, 128, 128 * sizeof(int), a_, y.data(), kCount), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(z.data() + 10, y.data(), 100 * sizeof(int), cudaMemcpyDeviceToDevice, a_),
              cudaSuccess);
    ASSERT_EQ(cudaLaunchHostFunc(
                  a_, [](void* n) { ++*static_cast<int*>(n); }, &calls),
              cudaSuccess);
  };
  step(7);
  ASSERT_EQ(cudaStreamSynchronize(a_), cudaSuccess);
  std::vector<int> expected_y = y.host(), expected_z = z.host();
  EXPECT_EQ(calls, 1);
  ASSERT_EQ(cudaMemset(y.data(), 0xff, kCount * sizeof(int)), cudaSuccess);

  begin();
  int a = 7;
  step(a);
  a = 1000;  // arguments were copied
  EXPECT_EQ(calls, 1) << "a captured call does not run";
  cudaStreamCaptureStatus status;
  ASSERT_EQ(cudaStreamIsCapturing(a_, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  finish();
  EXPECT_EQ(node_count(), 5u);
  EXPECT_EQ(y.host(), std::vector<int>(kCount, -1));
  for (int replay = 0; replay < 3; ++replay) ASSERT_EQ(cudaGraphLaunch(exec_, a_), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(a_), cudaSuccess);
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(y.host(), expected_y);
  EXPECT_EQ(z.host(), expected_z);
}

// x → y on stream a, x → z on stream b, then z += y on a; replayed on one stream, then on the other.
TEST_F(Graphs, ForkAndJoinOverTwoStreams) {
  DeviceArray<int> x(ramp()), y(kCount), z(kCount), total(kCount);
  begin();
  ASSERT_EQ(launch_flat<axpb>(3, 256, a_, total.data(), x.data(), 1, 5, kCount), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(fork_, a_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(b_, fork_), cudaSuccess);
  ASSERT_EQ(launch_flat<axpb>(3, 256, a_, x.data(), y.data(), 2, 0, kCount), cudaSuccess);
  ASSERT_EQ(launch_flat<axpb>(3, 256, b_, x.data(), z.data(), 3, 1, kCount), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(join_, b_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(a_, join_), cudaSuccess);
  ASSERT_EQ(launch_flat<sum>(3, 256, a_, y.data(), z.data(), total.data(), kCount), cudaSuccess);
  cudaStreamCaptureStatus status;
  ASSERT_EQ(cudaStreamIsCapturing(b_, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  finish();
  ASSERT_EQ(cudaStreamIsCapturing(b_, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  EXPECT_EQ(node_count(), 4u);

  int value = 0;  // total = 5·(total + 5) + 1
  for (int replay = 0; replay < 4; ++replay) {
    ASSERT_EQ(cudaGraphLaunch(exec_, replay % 2 == 0 ? a_ : b_), cudaSuccess);
    value = 5 * (value + 5) + 1;
  }
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(total.host(), std::vector<int>(kCount, value));
}

TEST_F(Graphs, AnEmptyGraphRuns) {
  begin();
  finish();
  EXPECT_EQ(node_count(), 0u);
  EXPECT_EQ(cudaGraphLaunch(exec_, a_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(a_), cudaSuccess);
}

// Each call that would wait or allocate fails and spoils the capture, after which the stream works as before.
TEST_F(Graphs, UnsafeCallsInvalidateTheCapture) {
  int* memory = nullptr;
  int host = 0;
  ASSERT_EQ(cudaMalloc(&memory, sizeof(int)), cudaSuccess);
  cudaEvent_t plain = nullptr;
  ASSERT_EQ(cudaEventCreate(&plain), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(plain, b_), cudaSuccess);
  void* other = nullptr;
  const std::vector<std::pair<const char*, std::function<cudaError_t()>>> calls = {
      {"malloc", [&] { return cudaMalloc(&other, 16); }},
      {"malloc async", [&] { return cudaMallocAsync(&other, 16, a_); }},
      {"malloc host", [&] { return cudaMallocHost(&other, 16); }},
      {"free", [&] { return cudaFree(memory); }},
      {"free async", [&] { return cudaFreeAsync(memory, a_); }},
      {"stream synchronize", [&] { return cudaStreamSynchronize(a_); }},
      {"stream query", [&] { return cudaStreamQuery(a_); }},
      {"device synchronize", [&] { return cudaDeviceSynchronize(); }},
      {"event synchronize", [&] { return cudaEventSynchronize(plain); }},
      {"memcpy", [&] { return cudaMemcpy(&host, memory, sizeof(int), cudaMemcpyDeviceToHost); }},
      {"memset", [&] { return cudaMemset(memory, 0, sizeof(int)); }},
  };
  for (const auto& [name, call] : calls) {
    begin();
    EXPECT_EQ(call(), cudaErrorStreamCaptureUnsupported) << name;
    EXPECT_EQ(cudaMemsetAsync(memory, 0, sizeof(int), a_), cudaErrorStreamCaptureInvalidated) << name;
    cudaStreamCaptureStatus status;
    ASSERT_EQ(cudaStreamIsCapturing(a_, &status), cudaSuccess);
    EXPECT_EQ(status, cudaStreamCaptureStatusInvalidated) << name;
    EXPECT_EQ(cudaStreamEndCapture(a_, &graph_), cudaErrorStreamCaptureInvalidated) << name;
    EXPECT_EQ(graph_, nullptr);
    EXPECT_EQ(cudaMemsetAsync(memory, 0, sizeof(int), a_), cudaSuccess) << name;
    EXPECT_EQ(cudaStreamSynchronize(a_), cudaSuccess) << name;
  }
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  cudaEventDestroy(plain);
}

TEST_F(Graphs, ARelaxedCaptureLetsAllocate) {
  void* memory = nullptr;
  begin(cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(cudaMalloc(&memory, 16), cudaSuccess);
  finish();
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST_F(Graphs, WrongCapturesAreNamed) {
  DeviceArray<int> x(ramp());
  // A fork that is never joined.
  begin();
  ASSERT_EQ(cudaEventRecord(fork_, a_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(b_, fork_), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(x.data(), 0, 4, b_), cudaSuccess);
  EXPECT_EQ(cudaStreamEndCapture(a_, &graph_), cudaErrorStreamCaptureUnjoined);
  // Ended on a stream that did not begin it.
  begin();
  ASSERT_EQ(cudaEventRecord(fork_, a_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(b_, fork_), cudaSuccess);
  EXPECT_EQ(cudaStreamEndCapture(b_, &graph_), cudaErrorStreamCaptureUnmatched);
  EXPECT_EQ(cudaStreamEndCapture(a_, &graph_), cudaErrorStreamCaptureInvalidated);
  // Waiting for work outside of the capture.
  ASSERT_EQ(cudaEventRecord(join_, b_), cudaSuccess);
  begin();
  EXPECT_EQ(cudaStreamWaitEvent(a_, join_), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(cudaStreamEndCapture(a_, &graph_), cudaErrorStreamCaptureInvalidated);
  // Waiting on the host for an event of a capture; and after it, on a stream.
  begin();
  ASSERT_EQ(cudaEventRecord(fork_, a_), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(fork_), cudaErrorCapturedEvent);
  finish();
  EXPECT_EQ(cudaStreamWaitEvent(b_, fork_), cudaErrorCapturedEvent);
  // Two captures that meet.
  ASSERT_EQ(cudaStreamBeginCapture(a_, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(b_, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(fork_, a_), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(b_, fork_), cudaErrorStreamCaptureMerge);
  cudaGraph_t none = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(a_, &none), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaStreamEndCapture(b_, &none), cudaErrorStreamCaptureInvalidated);
  // No capture at all, and none on the default stream.
  EXPECT_EQ(cudaStreamEndCapture(a_, &none), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << "none of these is sticky";
}

TEST_F(Graphs, TheDefaultStreamCannotDependOnACapture) {
  DeviceArray<int> x(ramp());
  cudaStream_t blocking = nullptr;
  ASSERT_EQ(cudaStreamCreate(&blocking), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(x.data(), 0, 4, nullptr), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(cudaStreamEndCapture(blocking, &graph_), cudaErrorStreamCaptureInvalidated);
  cudaStreamDestroy(blocking);
}

// An error in one lane reaches the host, and the other lanes do not wait for ever.
TEST_F(Graphs, AnErrorInsideAReplayIsSticky) {
  begin();
  ASSERT_EQ(cudaEventRecord(fork_, a_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(b_, fork_), cudaSuccess);
  ASSERT_EQ(cudaLaunchHostFunc(
                b_, [](void*) { throw std::runtime_error("in a graph"); }, nullptr),
            cudaSuccess);
  ASSERT_EQ(cudaEventRecord(join_, b_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(a_, join_), cudaSuccess);
  ASSERT_EQ(cudaLaunchHostFunc(
                a_, [](void*) {}, nullptr),
            cudaSuccess);
  finish();
  testing::internal::CaptureStderr();
  ASSERT_EQ(cudaGraphLaunch(exec_, a_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(a_), cudaErrorLaunchFailure);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("in a graph"), std::string::npos);
  EXPECT_EQ(cudaGraphLaunch(exec_, a_), cudaErrorLaunchFailure);
}

}  // namespace
