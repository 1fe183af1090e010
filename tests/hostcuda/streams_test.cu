// Streams, events and memory: what is asynchronous, what is ordered, and what errors come back.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "hostcuda/hostcuda.h"
#include "hostcuda/portable/launch.h"
#include "tests/hostcuda/device_array.h"

namespace {

using lathe::launch_flat;

__global__ void add(int* x, int value, int n LATHE_FLAT) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += value;
}
__global__ void multiply(int* x, int factor, int n LATHE_FLAT) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}

// Host work that blocks its stream until the test opens it.
class Gate {
 public:
  ~Gate() { open(); }
  void close_on(cudaStream_t stream) {
    auto wait = [](void* future) {  // its own copy, since the gate may be gone when the stream gets here
      std::unique_ptr<std::shared_future<void>> opened(static_cast<std::shared_future<void>*>(future));
      opened->wait();
    };
    ASSERT_EQ(cudaLaunchHostFunc(stream, wait, new std::shared_future<void>(future_)), cudaSuccess);
  }
  void open() {
    if (!opened_) promise_.set_value();
    opened_ = true;
  }

 private:
  std::promise<void> promise_;
  std::shared_future<void> future_ = promise_.get_future().share();
  bool opened_ = false;
};

class Streams : public testing::Test {
 protected:
  void SetUp() override {
    hostcuda::reset_for_tests();
    for (cudaStream_t* stream : {&a_, &b_}) {
      ASSERT_EQ(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), cudaSuccess);
    }
    ASSERT_EQ(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), cudaSuccess);
  }
  void TearDown() override {
    cudaStreamDestroy(a_);
    cudaStreamDestroy(b_);
    cudaEventDestroy(event_);
    hostcuda::reset_for_tests();
  }
  cudaStream_t a_ = nullptr, b_ = nullptr;
  cudaEvent_t event_ = nullptr;
};

TEST_F(Streams, RunAsynchronouslyAndInOrder) {
  const int n = 500;
  DeviceArray<int> x(std::vector<int>(n, 1));
  Gate gate;
  gate.close_on(a_);
  ASSERT_EQ(launch_flat<add>(2, 256, a_, x.data(), 2, n), cudaSuccess);       // 3
  ASSERT_EQ(launch_flat<multiply>(2, 256, a_, x.data(), 5, n), cudaSuccess);  // 15
  ASSERT_EQ(launch_flat<add>(2, 256, a_, x.data(), 1, n), cudaSuccess);       // 16
  EXPECT_EQ(cudaStreamQuery(a_), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(b_), cudaSuccess);
  cudaGetLastError();
  gate.open();
  ASSERT_EQ(cudaStreamSynchronize(a_), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(a_), cudaSuccess);
  EXPECT_EQ(x.host(), std::vector<int>(n, 16));
}

// The correct program, about which ThreadSanitizer is quiet; without the wait it reports the race on x.
TEST_F(Streams, EventsOrderAcrossStreams) {
  const int n = 500;
  DeviceArray<int> x(std::vector<int>(n, 1));
  Gate gate;
  gate.close_on(a_);
  ASSERT_EQ(launch_flat<add>(2, 256, a_, x.data(), 2, n), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event_, a_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(b_, event_), cudaSuccess);
  ASSERT_EQ(launch_flat<multiply>(2, 256, b_, x.data(), 5, n), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event_), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(b_), cudaErrorNotReady);
  gate.open();
  ASSERT_EQ(cudaStreamSynchronize(b_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess);
  EXPECT_EQ(x.host(), std::vector<int>(n, 15));
}

// A wait is for the record that came before it, not for later ones.
TEST_F(Streams, WaitIsForTheLatestRecordAtThatTime) {
  EXPECT_EQ(cudaStreamWaitEvent(b_, event_), cudaSuccess);  // never recorded: no wait
  ASSERT_EQ(cudaEventRecord(event_, a_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(b_, event_), cudaSuccess);
  Gate gate;
  gate.close_on(a_);
  ASSERT_EQ(cudaEventRecord(event_, a_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(b_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event_), cudaErrorNotReady);
  gate.open();
  EXPECT_EQ(cudaEventSynchronize(event_), cudaSuccess);
}

TEST_F(Streams, DefaultStreamIsOrderedWithBlockingStreams) {
  const int n = 300;
  cudaStream_t blocking = nullptr;
  ASSERT_EQ(cudaStreamCreate(&blocking), cudaSuccess);
  DeviceArray<int> x(std::vector<int>(n, 1));
  Gate gate;
  gate.close_on(blocking);
  ASSERT_EQ(launch_flat<add>(2, 256, blocking, x.data(), 2, n), cudaSuccess);
  ASSERT_EQ(launch_flat<multiply>(2, 256, nullptr, x.data(), 5, n), cudaSuccess);
  ASSERT_EQ(launch_flat<add>(2, 256, blocking, x.data(), 1, n), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  gate.open();
  ASSERT_EQ(cudaStreamSynchronize(blocking), cudaSuccess);
  EXPECT_EQ(x.host(), std::vector<int>(n, 16));
  EXPECT_EQ(cudaStreamDestroy(blocking), cudaSuccess);
}

TEST_F(Streams, DestroyFinishesTheWork) {
  DeviceArray<int> x(std::vector<int>(10, 1));
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  for (int i = 0; i < 20; ++i) ASSERT_EQ(launch_flat<add>(1, 32, stream, x.data(), 1, 10), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(x.host(), std::vector<int>(10, 21));
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
}

TEST_F(Streams, ElapsedTimeOfEvents) {
  cudaEvent_t start = nullptr, end = nullptr;
  ASSERT_EQ(cudaEventCreate(&start), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&end), cudaSuccess);
  float milliseconds = -1.0f;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorInvalidResourceHandle);  // not recorded
  ASSERT_EQ(cudaEventRecord(start, a_), cudaSuccess);
  auto sleep = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  ASSERT_EQ(cudaLaunchHostFunc(a_, sleep, nullptr), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(end, a_), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorNotReady);
  ASSERT_EQ(cudaEventSynchronize(end), cudaSuccess);
  ASSERT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaSuccess);
  EXPECT_GE(milliseconds, 5.0f);
  ASSERT_EQ(cudaEventRecord(event_, a_), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, event_), cudaErrorInvalidResourceHandle);  // no timing
  cudaEventDestroy(start);
  cudaEventDestroy(end);
}

TEST_F(Streams, AnExceptionOfHostWorkIsAStickyError) {
  auto fail = [](void*) { throw std::runtime_error("no such primitive"); };
  testing::internal::CaptureStderr();
  ASSERT_EQ(cudaLaunchHostFunc(a_, fail, nullptr), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(a_), cudaErrorLaunchFailure);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("no such primitive"), std::string::npos);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
}

// Pinned memory is read when the copy runs; pageable memory may be changed as soon as the call returns.
TEST_F(Streams, CopiesFromPinnedAndPageableMemory) {
  int *device = nullptr, *pinned = nullptr, *back = nullptr, pageable[4] = {1, 2, 3, 4};
  ASSERT_EQ(cudaMalloc(&device, sizeof pageable), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, sizeof pageable), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&back, sizeof pageable), cudaSuccess);
  {
    Gate gate;
    gate.close_on(a_);
    ASSERT_EQ(cudaMemcpyAsync(device, pageable, sizeof pageable, cudaMemcpyHostToDevice, a_), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(back, device, sizeof pageable, cudaMemcpyDeviceToHost, a_), cudaSuccess);
    pageable[0] = 77;
    gate.open();
    ASSERT_EQ(cudaStreamSynchronize(a_), cudaSuccess);
    EXPECT_EQ(back[0], 1);
  }
  {
    Gate gate;
    gate.close_on(a_);
    pinned[0] = 5;
    ASSERT_EQ(cudaMemcpyAsync(device, pinned, sizeof pageable, cudaMemcpyHostToDevice, a_), cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(device + 1, 0xff, 4, a_), cudaSuccess);
    pinned[0] = 6;
    gate.open();
    ASSERT_EQ(cudaStreamSynchronize(a_), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(pageable, device, sizeof pageable, cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(pageable[0], 6);
    EXPECT_EQ(pageable[1], -1);
  }
  EXPECT_EQ(cudaFree(device), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(back), cudaSuccess);
}

TEST_F(Streams, WrongArgumentsAreRefused) {
  char *device = nullptr, host[64] = {};
  ASSERT_EQ(cudaMalloc(&device, 64), cudaSuccess);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(device) % 256, 0u);
  EXPECT_EQ(cudaMemcpy(device, host, 65, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host, device + 60, 5, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host, host + 32, 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device, nullptr, 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device, host, 8, static_cast<cudaMemcpyKind>(9)), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemset(device, 0, 65), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(host, 0, 8), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(host), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(device), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
  EXPECT_EQ(cudaFree(device), cudaErrorInvalidValue);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaEventRecord(nullptr, a_), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaLaunchHostFunc(a_, nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << "none of these is sticky";
  EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
}

class Memory : public Streams {};

TEST_F(Memory, AllocationsCanBeMadeToFail) {
  void *first = nullptr, *second = nullptr, *third = nullptr;
  hostcuda::fail_allocation(2);
  EXPECT_EQ(cudaMalloc(&first, 100), cudaSuccess);
  EXPECT_EQ(cudaMallocAsync(&second, 100, a_), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&third, 100), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaFree(first), cudaSuccess);
  EXPECT_EQ(cudaFree(third), cudaSuccess);
  hostcuda::fail_allocation(1);
  EXPECT_EQ(cudaMallocHost(&second, 100), cudaErrorMemoryAllocation);
}

TEST_F(Memory, LimitCountsWhatIsAllocated) {
  void *first = nullptr, *second = nullptr;
  size_t free_bytes = 0, total = 0;
  hostcuda::set_memory_limit(1 << 20);
  ASSERT_EQ(cudaMalloc(&first, 600 << 10), cudaSuccess);
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
  EXPECT_EQ(total, 1u << 20);
  EXPECT_EQ(free_bytes, 424u << 10);
  EXPECT_EQ(cudaMalloc(&second, 600 << 10), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&second, SIZE_MAX), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaFree(first), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&second, 600 << 10), cudaSuccess);
  EXPECT_EQ(cudaFree(second), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&second, 0), cudaSuccess);
  EXPECT_EQ(second, nullptr);
}

TEST_F(Memory, PooledMemoryGivesWayWhenMemoryIsShort) {
  void *first = nullptr, *second = nullptr;
  hostcuda::set_memory_limit(1 << 20);
  ASSERT_EQ(cudaMallocAsync(&first, 600 << 10, a_), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(first, a_), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(a_), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&second, 900 << 10), cudaSuccess);
  EXPECT_EQ(cudaFree(second), cudaSuccess);
}

#ifndef __SANITIZE_ADDRESS__  // under AddressSanitizer nothing is reused
TEST_F(Memory, PoolReusesOnTheSameStreamAtOnce) {
  void *first = nullptr, *second = nullptr;
  Gate gate;
  gate.close_on(a_);
  ASSERT_EQ(cudaMallocAsync(&first, 1000, a_), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(first, a_), cudaSuccess);
  ASSERT_EQ(cudaMallocAsync(&second, 900, a_), cudaSuccess);
  EXPECT_EQ(first, second);
  ASSERT_EQ(cudaFreeAsync(second, a_), cudaSuccess);
}

// A block freed on stream A goes to B only when B is ordered after the free: by an event that covers it, or
// because the work is done.
TEST_F(Memory, PoolNeverHandsABlockToAnUnorderedStream) {
  void *first = nullptr, *second = nullptr, *third = nullptr, *fourth = nullptr;
  Gate gate;
  gate.close_on(a_);
  ASSERT_EQ(cudaMallocAsync(&first, 1000, a_), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event_, a_), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(first, 0, 1000, a_), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(first, a_), cudaSuccess);
  ASSERT_EQ(cudaMallocAsync(&second, 1000, b_), cudaSuccess);
  EXPECT_NE(first, second) << "no event at all";
  ASSERT_EQ(cudaStreamWaitEvent(b_, event_), cudaSuccess);
  ASSERT_EQ(cudaMallocAsync(&third, 1000, b_), cudaSuccess);
  EXPECT_NE(first, third) << "the event is older than the use of the block";
  ASSERT_EQ(cudaEventRecord(event_, a_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(b_, event_), cudaSuccess);
  ASSERT_EQ(cudaMallocAsync(&fourth, 1000, b_), cudaSuccess);
  EXPECT_EQ(first, fourth) << "ordered by the event";
  for (void* block : {second, third, fourth}) ASSERT_EQ(cudaFreeAsync(block, b_), cudaSuccess);
}

// Ordered through a third stream, whose work used the block: A waits for C, then frees. An event of A from
// before that wait does not cover it.
TEST_F(Memory, PoolKnowsThatWaitsCarryOrder) {
  cudaStream_t c = nullptr;
  cudaEvent_t before = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&c, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&before), cudaSuccess);
  void *first = nullptr, *second = nullptr;
  Gate gate;
  gate.close_on(c);
  ASSERT_EQ(cudaMallocAsync(&first, 1000, a_), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(before, a_), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(first, 0, 1000, c), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event_, c), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(a_, event_), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(first, a_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(b_, before), cudaSuccess);
  ASSERT_EQ(cudaMallocAsync(&second, 1000, b_), cudaSuccess);
  EXPECT_NE(first, second);
  gate.open();
  ASSERT_EQ(cudaFreeAsync(second, b_), cudaSuccess);
  cudaStreamDestroy(c);
  cudaEventDestroy(before);
}

TEST_F(Memory, PoolTellsItsSize) {
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
  auto attribute = [&](cudaMemPoolAttr name) {
    uint64_t value = 0;
    EXPECT_EQ(cudaMemPoolGetAttribute(pool, name, &value), cudaSuccess);
    return value;
  };
  uint64_t zero = 0;
  ASSERT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero), cudaSuccess);
  void* block = nullptr;
  ASSERT_EQ(cudaMallocAsync(&block, 5000, a_), cudaSuccess);
  EXPECT_EQ(attribute(cudaMemPoolAttrUsedMemCurrent), 5120u);
  ASSERT_EQ(cudaFreeAsync(block, a_), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(a_), cudaSuccess);
  EXPECT_EQ(attribute(cudaMemPoolAttrUsedMemCurrent), 0u);
  EXPECT_EQ(attribute(cudaMemPoolAttrUsedMemHigh), 5120u);
  EXPECT_EQ(attribute(cudaMemPoolAttrReservedMemCurrent), 5120u);
  ASSERT_EQ(cudaMemPoolTrimTo(pool, 0), cudaSuccess);
  EXPECT_EQ(attribute(cudaMemPoolAttrReservedMemCurrent), 0u);
}
#endif

TEST_F(Memory, PointersKnowWhatTheyPointTo) {
  char *device = nullptr, *pinned = nullptr, host = 0;
  ASSERT_EQ(cudaMalloc(&device, 10), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, 10), cudaSuccess);
  cudaPointerAttributes attributes;
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, device + 9), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, pinned), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, &host), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  cudaFree(device);
  cudaFreeHost(pinned);
}

#ifdef __SANITIZE_THREAD__
// One stream writes x, another reads it, with or without a wait between them. Ends the process.
void write_then_read(bool wait) {
  const int n = 5000;
  int *x = nullptr, *y = nullptr;
  cudaStream_t writer = nullptr, reader = nullptr;
  cudaEvent_t written = nullptr;
  cudaMalloc(&x, n * sizeof(int));
  cudaMalloc(&y, n * sizeof(int));
  cudaMemset(x, 0, n * sizeof(int));
  cudaMemset(y, 0, n * sizeof(int));
  cudaStreamCreateWithFlags(&writer, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&reader, cudaStreamNonBlocking);
  cudaEventCreate(&written);
  launch_flat<add>(20, 256, writer, x, 1, n);
  cudaEventRecord(written, writer);
  if (wait) cudaStreamWaitEvent(reader, written);
  cudaMemcpyAsync(y, x, n * sizeof(int), cudaMemcpyDeviceToDevice, reader);
  cudaDeviceSynchronize();
  std::exit(0);  // ThreadSanitizer makes it 66 if it has something to tell
}

TEST(RaceDeathTest, AMissingEventWaitIsAReportedRace) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(write_then_read(true), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(write_then_read(false), testing::ExitedWithCode(66), "data race");
}
#endif

TEST(Switches, ThreadOrderIsChecked) {
  EXPECT_THROW(hostcuda::set_thread_order("sideways"), std::invalid_argument);
  EXPECT_THROW(hostcuda::set_thread_order("random:x"), std::invalid_argument);
  EXPECT_THROW(hostcuda::set_thread_order("random:"), std::invalid_argument);
  EXPECT_THROW(hostcuda::set_thread_order("random:-1"), std::invalid_argument);
  EXPECT_THROW(hostcuda::set_thread_order("preempt:18446744073709551616"), std::invalid_argument);
}

}  // namespace
