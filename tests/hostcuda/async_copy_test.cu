// cp.async: groups, zero-filled tails, missing waits, misuse, and what an observer is told; in every order of
// threads, with the copies made at once and at the wait.
#include "hostcuda/portable/async_copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "hostcuda/execution/observer.h"
#include "hostcuda/hostcuda.h"
#include "hostcuda/portable/launch.h"
#include "tests/hostcuda/device_array.h"

namespace {

using lathe::cp_async;
using lathe::cp_async_commit;
using lathe::cp_async_wait;
using lathe::cp_async_wait_all;
using lathe::launch;

constexpr const char* kOrders[] = {"forward", "reverse", "random:1", "random:2", "random:3"};
constexpr int kThreads = 64, kBlocks = 3;

class AsyncCopies : public testing::Test {
 protected:
  void SetUp() override { hostcuda::reset_for_tests(); }
  void TearDown() override { hostcuda::reset_for_tests(); }

  template <typename Check>
  void in_every_order(Check check) {
    for (const char* order : kOrders) {
      for (const char* when : {"issue", "wait"}) {
        SCOPED_TRACE(std::string(order) + ", copies at " + when);
        hostcuda::set_thread_order(order);
        hostcuda::set_async_copies(when);
        check(std::string(when) == "wait");
      }
    }
  }
  template <auto Kernel, typename... Args>
  std::string complaint(Args... args) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(launch<Kernel>(2, kThreads, 0, nullptr, args...), cudaSuccess);
    result_ = cudaDeviceSynchronize();
    return testing::internal::GetCapturedStderr();
  }
  cudaError_t result_ = cudaSuccess;
};

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

std::vector<unsigned char> numbered_bytes(size_t count) {
  std::vector<unsigned char> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<unsigned char>(1 + i % 253);
  return bytes;
}

// Each thread copies its own bytes, then reads its neighbour's.
template <int bytes>
__global__ void through_shared(const unsigned char* x, unsigned char* y, int valid) {
  alignas(16) __shared__ unsigned char tile[kThreads * bytes];
  const int t = threadIdx.x, first = blockIdx.x * kThreads * bytes, other = (t + 33) % kThreads;
  cp_async<bytes>(&tile[t * bytes], &x[first + t * bytes], valid < 0 ? bytes : (valid + t) % (bytes + 1));
  cp_async_wait_all();
  __syncthreads();
  for (int i = 0; i < bytes; ++i) y[first + t * bytes + i] = tile[other * bytes + i];
}

template <int bytes>
void expect_copies(int valid) {
  SCOPED_TRACE(testing::Message() << bytes << " bytes, " << valid << " valid");
  const auto x = numbered_bytes(kBlocks * kThreads * bytes);
  std::vector<unsigned char> expected(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const int block = i / (kThreads * bytes), other = (i / bytes % kThreads + 33) % kThreads,
              byte = i % bytes;
    const int count = valid < 0 ? bytes : (valid + other) % (bytes + 1);
    expected[i] = byte < count ? x[(block * kThreads + other) * bytes + byte] : 0;
  }
  DeviceArray<unsigned char> X(x), Y(std::vector<unsigned char>(x.size(), 77));
  ASSERT_EQ(launch<through_shared<bytes>>(kBlocks, kThreads, 0, nullptr, X.data(), Y.data(), valid),
            cudaSuccess);
  EXPECT_EQ(Y.host(), expected);
}

TEST_F(AsyncCopies, EverySizeAndEveryZeroFilledTail) {
  in_every_order([](bool) {
    for (int valid : {-1, 0, 5}) {
      expect_copies<4>(valid);
      expect_copies<8>(valid);
      expect_copies<16>(valid);
    }
  });
}

// Four groups of one int, the third of them empty; what the thread itself sees after each wait.
__global__ void groups(const int* x, int* y) {
  __shared__ int tile[4][kThreads];
  const int t = threadIdx.x;
  int* to = y + (blockIdx.x * kThreads + t) * 16;
  const int* from = x + (blockIdx.x * kThreads + t) * 4;
  for (int i = 0; i < 4; ++i) {
    if (i != 2) cp_async<4>(&tile[i][t], &from[i]);
    if (i == 2) tile[2][t] = 0;
    cp_async_commit();
  }
  cp_async_wait<3>();
  for (int i = 0; i < 4; ++i) to[i] = tile[i][t];
  cp_async_wait<2>();
  for (int i = 0; i < 4; ++i) to[4 + i] = tile[i][t];
  cp_async_wait<1>();
  for (int i = 0; i < 4; ++i) to[8 + i] = tile[i][t];
  cp_async_wait<0>();
  for (int i = 0; i < 4; ++i) to[12 + i] = tile[i][t];
}

TEST_F(AsyncCopies, AWaitLeavesTheNewestGroupsUnfinished) {
  std::vector<int> x(kBlocks * kThreads * 4);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int>(10 + i);
  in_every_order([&](bool late) {
    DeviceArray<int> X(x), Y(kBlocks * kThreads * 16);
    ASSERT_EQ(launch<groups>(kBlocks, kThreads, 0, nullptr, X.data(), Y.data()), cudaSuccess);
    const std::vector<int> y = Y.host();
    for (int t = 0; t < kBlocks * kThreads; ++t) {
      for (int wait = 0; wait < 4; ++wait) {
        for (int i = 0; i < 4; ++i) {
          const bool done = i <= wait || !late;
          const int expected = i == 2 ? 0 : done ? x[t * 4 + i] : -1;
          ASSERT_EQ(y[t * 16 + wait * 4 + i], expected)
              << "thread " << t << " wait " << wait << " copy " << i;
        }
      }
    }
  });
}

// y = the sum over rounds of the neighbour's x, with kStages − 1 groups in flight, as kernels do it.
template <int kStages>
__global__ void pipeline(const int* x, int* y, int rounds) {
  __shared__ int stage[kStages][kThreads];
  const int t = threadIdx.x;
  const int* from = x + blockIdx.x * kThreads * rounds + t;
  for (int i = 0; i < kStages - 1; ++i) {
    if (i < rounds) cp_async<4>(&stage[i][t], &from[i * kThreads]);
    cp_async_commit();
  }
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    cp_async_wait<kStages - 2>();
    __syncthreads();
    const int next = i + kStages - 1;
    if (next < rounds) cp_async<4>(&stage[next % kStages][t], &from[next * kThreads]);
    cp_async_commit();
    sum += stage[i % kStages][(t + 1) % kThreads];
  }
  y[blockIdx.x * kThreads + t] = sum;
}

TEST_F(AsyncCopies, PipelinesOfSeveralStages) {
  for (int rounds : {1, 2, 3, 100}) {
    std::vector<int> x(kBlocks * rounds * kThreads), expected(kBlocks * kThreads);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int>(i * i % 1009);
    for (int b = 0; b < kBlocks; ++b) {
      for (int t = 0; t < kThreads; ++t) {
        for (int i = 0; i < rounds; ++i)
          expected[b * kThreads + t] += x[(b * rounds + i) * kThreads + (t + 1) % kThreads];
      }
    }
    in_every_order([&](bool) {
      DeviceArray<int> X(x), Y(kBlocks * kThreads);
      ASSERT_EQ(launch<pipeline<2>>(kBlocks, kThreads, 0, nullptr, X.data(), Y.data(), rounds), cudaSuccess);
      EXPECT_EQ(Y.host(), expected);
      ASSERT_EQ(launch<pipeline<4>>(kBlocks, kThreads, 0, nullptr, X.data(), Y.data(), rounds), cudaSuccess);
      EXPECT_EQ(Y.host(), expected);
    });
  }
}

// Each thread waits for its own copies alone: thread 0's wait is not thread 1's.
__global__ void one_waits(const int* x, int* y, bool all) {
  __shared__ int tile[kThreads];
  cp_async<4>(&tile[threadIdx.x], &x[threadIdx.x]);
  cp_async_commit();
  if (all || threadIdx.x == 0) cp_async_wait<0>();
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x];
}

TEST_F(AsyncCopies, AMissingWaitIsSeenWhereCopiesAreLate) {
  in_every_order([](bool late) {
    std::vector<int> x(kThreads, 5), waited(kThreads, 5), missing(kThreads, late ? -1 : 5);
    missing[0] = 5;
    DeviceArray<int> X(x), Y(kThreads);
    ASSERT_EQ(launch<one_waits>(1, kThreads, 0, nullptr, X.data(), Y.data(), true), cudaSuccess);
    EXPECT_EQ(Y.host(), waited);
    // Also: what the threads of this block leave unfinished does not reach the next one.
    ASSERT_EQ(launch<one_waits>(5, kThreads, 0, nullptr, X.data(), Y.data(), false), cudaSuccess);
    EXPECT_EQ(Y.host(), missing);
    ASSERT_EQ(launch<one_waits>(1, kThreads, 0, nullptr, X.data(), Y.data(), true), cudaSuccess);
    EXPECT_EQ(Y.host(), waited);
  });
}

template <int bytes>
__global__ void shifted(const unsigned char* x, int to, int from, int valid) {
  alignas(16) __shared__ unsigned char tile[2 * bytes];
  if (blockIdx.x == 1 && threadIdx.x == 33) cp_async<bytes>(&tile[to], &x[from], valid);
  cp_async_wait_all();
}

TEST_F(AsyncCopies, MisalignedCopiesAreNamed) {
  DeviceArray<unsigned char> x(64);
  EXPECT_EQ((complaint<shifted<8>>(x.data(), 8, 8, 8)), "");
  std::string text = complaint<shifted<8>>(x.data(), 0, 4, 8);
  EXPECT_EQ(result_, cudaErrorLaunchFailure);
  EXPECT_HAS(text, "shifted<8>, block (1,0,0), thread (33,0,0): cp.async at ");
  EXPECT_HAS(text, "async_copy_test.cu:");
  EXPECT_HAS(text, "the global address 0x");
  EXPECT_HAS(text, "is not a multiple of the copy's 8 bytes");
  hostcuda::reset_for_tests();
  EXPECT_HAS((complaint<shifted<16>>(x.data(), 8, 0, 16)), "the shared address 0x");
  hostcuda::reset_for_tests();
  EXPECT_HAS((complaint<shifted<4>>(x.data(), 0, 0, 5)), "5 valid bytes of 4");
  hostcuda::reset_for_tests();
  EXPECT_EQ((complaint<shifted<16>>(x.data(), 16, 32, 0)), "");
}

__global__ void flat_copy(const int* x LATHE_FLAT) {
  static int tile[kThreads];
  cp_async<4>(&tile[0], x);
}

TEST_F(AsyncCopies, FlatLaunchesHaveNone) {
  DeviceArray<int> x(1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(lathe::launch_flat<flat_copy>(1, 1, nullptr, x.data()), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_HAS(testing::internal::GetCapturedStderr(), "use launch");
}

TEST_F(AsyncCopies, AnUnknownModeIsRefused) {
  EXPECT_THROW(hostcuda::set_async_copies("later"), std::invalid_argument);
}

struct Seen : hostcuda::Observer {
  std::string text;
  const void* pc = nullptr;

  void launch_begins(const hostcuda::KernelInfo&) override {}
  void launch_ends() override {}
  void block_begins(hostcuda::Block&, const hostcuda::KernelInfo&, uint3) override {}
  void block_ends() override {}
  void thread_begins() override {}
  void thread_ends() override {}
  void fails(hostcuda::Failure, int, hostcuda::Site, const std::string&) override {}
  void barrier() override { text += "barrier "; }
  void warp_barrier(int, unsigned int) override {}
  void access(const void* at, const void*, size_t bytes, hostcuda::Access kind) override {
    pc = at;
    text += (kind == hostcuda::Access::read ? "read " : "write ") + std::to_string(bytes) + " ";
  }
  void copy_begins(const void* at, void*, size_t bytes) override {
    EXPECT_EQ(at, pc);
    text += "begin " + std::to_string(bytes) + " ";
  }
  void copy_ends(void*, size_t bytes) override { text += "end " + std::to_string(bytes) + " "; }
};

__global__ void observed(const int* x) {
  alignas(16) __shared__ int tile[8];
  cp_async<16>(&tile[0], x, 12);
  cp_async_commit();
  cp_async<8>(&tile[4], x, 0);
  cp_async_commit();
  cp_async_wait<1>();
  __syncthreads();
  cp_async_wait_all();
}

TEST_F(AsyncCopies, AnObserverIsToldOfAccessesAndOfTheWait) {
  DeviceArray<int> x(8);
  in_every_order([&](bool) {
    Seen seen;
    hostcuda::observer = &seen;
    EXPECT_EQ(launch<observed>(1, 1, 0, nullptr, x.data()), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    hostcuda::observer = nullptr;
    EXPECT_EQ(seen.text, "read 12 write 16 begin 16 write 8 begin 8 end 16 barrier end 8 ");
  });
}

}  // namespace
