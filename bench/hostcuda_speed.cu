// What hostcuda costs: barriers and warp operations, tiled matrix products, flat kernels against hand-written
// loops, memory allocations a block. On one CPU thread; rounds interleaved, median and range.
//   hostcuda_speed [rounds]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "hostcuda/hostcuda.h"
#include "hostcuda/portable/launch.h"
#include "kernels/gemm/ladder.h"

static std::atomic<long> allocations{0};
void* operator new(size_t bytes) {
  ++allocations;
  if (void* p = std::malloc(bytes)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace {

using lathe::launch;
using lathe::launch_flat;

constexpr int kSide = 512;
constexpr int64_t kElements = 1 << 14;
constexpr double kProduct = 2.0 * kSide * kSide * kSide;

__global__ void shared_tile_16(const float* A, const float* B, float* C, int n) {
  __shared__ float a[16][16], b[16][16];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    a[y][x] = A[row * n + k + x];
    b[y][x] = B[(k + y) * n + column];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += a[y][i] * b[i][x];
    __syncthreads();
  }
  C[row * n + column] = sum;
}

__global__ void barriers(int n) {
  for (int i = 0; i < n; ++i) __syncthreads();
}

__global__ void shuffles(int n, float* y) {
  float value = threadIdx.x;
  for (int i = 0; i < n; ++i) value += __shfl_xor_sync(0xffffffffu, value, 1);
  y[threadIdx.x] = value;
}

__global__ void saxpy(float a, const float* x, float* y, int64_t n LATHE_FLAT) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

[[gnu::noinline]] void saxpy_loop(float a, const float* __restrict__ x, float* __restrict__ y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += a * x[i];
}

struct Measure {
  std::string name, unit;
  std::function<void()> run;
  double work;  // result = work / seconds, or seconds · 1e9 / work for ns
  std::vector<double> values;
};

double seconds_of(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  cudaDeviceSynchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 7;
  hostcuda::set_threads(1);
  float *A, *B, *C;
  for (float** array : {&A, &B, &C}) {
    if (cudaMalloc(array, kSide * kSide * sizeof(float)) != cudaSuccess) return 4;
    cudaMemset(*array, 0, kSide * kSide * sizeof(float));
  }
  const lathe::kernels::Gemm<float> gemm{A, kSide, B, kSide, C, kSide, kSide, kSide, kSide};
  static constexpr int kRepeats = 2000, kFlat = 4000;
  auto ladder = [&](void (*rung)(const lathe::kernels::Gemm<float>&, cudaStream_t)) {
    return [=] { rung(gemm, nullptr); };
  };
  const dim3 tiles(kSide / 16, kSide / 16), tile(16, 16);
  std::vector<Measure> measures = {
      {"16x16 shared tile",
       "GFLOP/s",
       [=] { launch<shared_tile_16>(tiles, tile, 0, nullptr, A, B, C, kSide); },
       kProduct,
       {}},
      {"gemm/03_shared_tile", "GFLOP/s", ladder(lathe::kernels::gemm_shared_tile), kProduct, {}},
      {"gemm/05_register_tile_2d", "GFLOP/s", ladder(lathe::kernels::gemm_register_tile_2d), kProduct, {}},
      {"gemm/06_vectorised", "GFLOP/s", ladder(lathe::kernels::gemm_vectorised), kProduct, {}},
      {"gemm/07_warp_tile", "GFLOP/s", ladder(lathe::kernels::gemm_warp_tile), kProduct, {}},
      {"gemm/08_double_buffered", "GFLOP/s", ladder(lathe::kernels::gemm_double_buffered), kProduct, {}},
      {"barrier",
       "ns a thread",
       [] { launch<barriers>(1, 256, 0, nullptr, kRepeats); },
       256.0 * kRepeats,
       {}},
      {"shuffle",
       "ns a lane",
       [=] { launch<shuffles>(1, 256, 0, nullptr, kRepeats, C); },
       256.0 * kRepeats,
       {}},
      {"flat saxpy",
       "ns an element",
       [=] {
         for (int i = 0; i < kFlat; ++i)
           launch_flat<saxpy>(lathe::blocks_for(kElements, 256), 256, nullptr, 1.0f, A, C, kElements);
       },
       double(kElements) * kFlat,
       {}},
      {"loop saxpy",
       "ns an element",
       [=] {
         for (int i = 0; i < kFlat; ++i) saxpy_loop(1.0f, A, C, kElements);
       },
       double(kElements) * kFlat,
       {}},
  };
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    for (Measure& m : measures) {
      const double seconds = seconds_of(m.run);
      m.values.push_back(m.unit == "GFLOP/s" ? m.work / seconds * 1e-9 : seconds / m.work * 1e9);
    }
    const size_t n = measures.size();
    ratios.push_back(measures[n - 2].values.back() / measures[n - 1].values.back());
  }
  measures.push_back({"flat against loop", "times", nullptr, 0, ratios});
  for (Measure& m : measures) {
    std::sort(m.values.begin(), m.values.end());
    std::printf("%-26s %8.2f %-14s [%.2f, %.2f]\n", m.name.c_str(), m.values[m.values.size() / 2],
                m.unit.c_str(), m.values.front(), m.values.back());
  }
  // A launch allocates its own work, whatever the number of blocks.
  auto allocations_of = [&](unsigned blocks) {
    const long before = allocations;
    launch<barriers>(blocks, 256, 0, nullptr, 1);
    cudaDeviceSynchronize();
    return allocations - before;
  };
  allocations_of(1000);
  const long one = allocations_of(1), thousand = allocations_of(1000);
  std::printf("%-26s %8.3f\n", "allocations a block", static_cast<double>(thousand - one) / 999);
  return 0;
}
