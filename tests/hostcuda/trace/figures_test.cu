// Traced figures against what can be worked out by hand.
#include "tests/hostcuda/trace/traced_test.h"

namespace hostcuda::trace {
namespace {

using lathe::launch;
using lathe::launch_flat;

class TracedFigures : public Traced {};

template <typename T>
__global__ void copy_strided(const T* x, T* y, int stride, int offset LATHE_FLAT) {
  int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  y[i] = x[i * stride + offset];
}

template <typename T>
Figures strided(int stride, int offset) {
  constexpr int kThreads = 128;
  Device<T> x(kThreads * stride + offset + 1), y(kThreads);
  begin();
  launch_flat<copy_strided<T>>(1, kThreads, nullptr, x, y, stride, offset);
  std::vector<KernelTrace> traces = end();
  EXPECT_EQ(traces.size(), 1u);
  return traces.at(0).figures;
}

TEST_F(TracedFigures, SectorsOfARequest) {
  struct {
    int stride, offset, sectors;
  } cases[] = {{1, 0, 4}, {2, 0, 8}, {32, 0, 32}, {1, 1, 5}, {1, 8, 4}, {0, 5, 1}};
  for (auto c : cases) {
    Figures f = strided<float>(c.stride, c.offset);
    EXPECT_EQ(f.global_load.requests, 4) << "stride " << c.stride;
    EXPECT_EQ(f.global_load.moved, 4 * c.sectors) << "stride " << c.stride << " offset " << c.offset;
    EXPECT_EQ(f.global_load.bytes, 128 * 4);
    EXPECT_EQ(f.global_store.moved, 16);
    EXPECT_EQ(f.global_load.ideal, c.stride == 0 ? 4 : 16);
  }
  EXPECT_EQ(strided<float4>(1, 0).global_load.moved, 4 * 16);
  EXPECT_EQ(strided<float4>(1, 0).global_load.requests, 4) << "one wide load, not four";
  EXPECT_EQ(strided<double>(1, 0).global_load.moved, 4 * 8);
  EXPECT_EQ(strided<uint8_t>(1, 0).global_load.moved, 4 * 1);
}

template <int kPitch>
__global__ void read_columns(const float* x, float* y) {
  __shared__ float tile[32][kPitch];
  const int lane = static_cast<int>(threadIdx.x), row = static_cast<int>(threadIdx.y);
  tile[row][lane] = x[row * 32 + lane];
  __syncthreads();
  y[row * 32 + lane] = tile[lane][row];
}

TEST_F(TracedFigures, BankConflictsOfATransposedTile) {
  Device<float> x(1024), y(1024);
  KernelTrace plain = trace([&] { launch<read_columns<32>>(1, dim3(32, 32), 0, nullptr, x, y); });
  EXPECT_EQ(plain.figures.shared_load.requests, 32);
  EXPECT_EQ(plain.figures.shared_load.moved - plain.figures.shared_load.ideal, 32 * 31);
  EXPECT_EQ(plain.figures.shared_store.moved, 32);
  EXPECT_EQ(plain.barriers, 1);
  EXPECT_EQ(plain.static_shared_bytes, 4096);
  KernelTrace padded = trace([&] { launch<read_columns<33>>(1, dim3(32, 32), 0, nullptr, x, y); });
  EXPECT_EQ(padded.figures.shared_load.moved, 32);
  EXPECT_EQ(padded.figures.shared_load.ideal, 32);
  EXPECT_EQ(kinds(plain) + kinds(padded), "");
}

template <typename T>
__global__ void read_shared(float* y, int stride) {
  LATHE_DYNAMIC_SHARED(T, values);
  const int i = static_cast<int>(threadIdx.x);
  for (int k = i; k < 32 * stride + 1; k += 32) values[k] = T{};
  __syncthreads();
  y[i] = reinterpret_cast<const float*>(&values[i * stride])[0];
  const T whole = values[i * stride];
  y[i] += reinterpret_cast<const float&>(whole);
}

TEST_F(TracedFigures, WideSharedAccessesGoByHalvesAndQuarters) {
  Device<float> y(32);
  auto whole_reads = [&]<typename T>(T, int stride) {
    KernelTrace t =
        trace([&] { launch<read_shared<T>>(1, 32, (32 * stride + 1) * sizeof(T), nullptr, y, stride); });
    EXPECT_EQ(kinds(t), "");
    for (const Line& line : t.lines) {
      if (line.figures.shared_load.bytes == static_cast<int64_t>(32 * sizeof(T)) && sizeof(T) > 4)
        return std::pair(line.figures.shared_load.moved, line.figures.shared_load.ideal);
    }
    return std::pair(int64_t{-1}, int64_t{-1});
  };
  EXPECT_EQ(whole_reads(float4{}, 1), std::pair(int64_t{4}, int64_t{4}));
  EXPECT_EQ(whole_reads(float2{}, 1), std::pair(int64_t{2}, int64_t{2}));
  EXPECT_EQ(whole_reads(float2{}, 2), std::pair(int64_t{4}, int64_t{2}));
}

// Rows of different lengths: lanes come to the same load in different rounds of the inner loop.
__global__ void sparse_rows(const int* first, const float* values, float* sums, int rows LATHE_FLAT) {
  int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= rows) return;
  float sum = 0;
  for (int i = first[row]; i < first[row + 1]; ++i) {
    sum += values[i];
  }
  sums[row] = sum;
}

TEST_F(TracedFigures, LanesWithDifferentTripCounts) {
  // Row r has r % 4 + 1 values. Round j of a warp is made by the lanes with more than j values.
  std::vector<int> first = {0};
  for (int row = 0; row < 64; ++row) first.push_back(first.back() + row % 4 + 1);
  Device<int> starts(first);
  Device<float> values(first.back()), sums(64);
  KernelTrace t = trace([&] { launch_flat<sparse_rows>(1, 64, nullptr, starts, values, sums, 64); });
  for (const Line& line : t.lines) {
    if (line.figures.global_load.bytes != static_cast<int64_t>(values.size() * 4)) continue;
    EXPECT_EQ(line.figures.global_load.requests, 2 * 4);
    EXPECT_EQ(line.figures.global_load.lanes, first.back());
    return;
  }
  FAIL() << "no line reads the values";
}

// A warp walks 32 rows of equal length together, lane by lane, after an outer loop of different trip counts
// for each lane. Each lane then reads neighbouring words in every round: always 4 sectors.
__global__ void nested_rounds(const float* x, float* y, int rounds) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float sum = 0;
  for (int outer = 0; outer < rounds; ++outer) {
    for (int k = 0; k < lane % 5; ++k) sum += y[k];
    sum += x[outer * 32 + lane];
  }
  y[64 + threadIdx.x] = sum;
}

TEST_F(TracedFigures, LoopsThatDependOnTheLaneDoNotShiftTheOthers) {
  constexpr int kRounds = 16;
  Device<float> x(kRounds * 32), y(128);
  KernelTrace t = trace([&] { launch<nested_rounds>(1, 64, 0, nullptr, x, y, kRounds); });
  int64_t full = 0;
  for (const Line& line : t.lines) {
    if (line.figures.global_load.lanes != kRounds * 64) continue;
    full = line.figures.global_load.requests;
    EXPECT_EQ(line.figures.global_load.moved, 4 * full);
  }
  EXPECT_EQ(full, 2 * kRounds);
  EXPECT_EQ(t.unpaired, 0);
}

__global__ void branches(const float* x, float* y LATHE_FLAT) {
  int i = static_cast<int>(threadIdx.x);
  if (i % 2 == 0) {
    y[i] = x[i];
  } else {
    y[i] = -x[i];
  }
}

TEST_F(TracedFigures, DivergenceIsLanesThatSitOut) {
  Device<float> x(32), y(32);
  KernelTrace t = trace([&] { launch_flat<branches>(1, 32, nullptr, x, y); });
  EXPECT_GE(t.figures.global_load.requests, 1);
  EXPECT_EQ(t.figures.global_load.lanes, 32);
  EXPECT_GT(t.idle_lanes, 0.3);
}

__global__ void count(int* counters) { atomicAdd(&counters[threadIdx.x % 4], 1); }

TEST_F(TracedFigures, AtomicsAndGuards) {
  Device<int> counters(4);
  KernelTrace t = trace([&] { launch<count>(2, 64, 0, nullptr, counters); });
  EXPECT_EQ(t.figures.atomics, 128);
  EXPECT_EQ(t.launches, 1);
  EXPECT_EQ(t.blocks, 2);
  EXPECT_EQ(t.threads, 128);
  EXPECT_EQ(kinds(t), "");
}

TEST_F(TracedFigures, LinesAreNamed) {
  Device<float> x(1024), y(1024);
  KernelTrace t = trace([&] { launch<read_columns<32>>(1, dim3(32, 32), 0, nullptr, x, y); });
  ASSERT_EQ(t.lines.size(), 2u);
  EXPECT_EQ(t.lines[0].file, "tests/hostcuda/trace/figures_test.cu");
  EXPECT_EQ(t.lines[1].line, t.lines[0].line + 2);
}

}  // namespace
}  // namespace hostcuda::trace
