// What tracing costs: nanoseconds for each access of a lane that is recorded, for the ladder's products.
//   trace_speed [rounds]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "hostcuda/trace/trace.h"
#include "kernels/gemm/ladder.h"

using namespace lathe;

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 5;
  constexpr int64_t kSide = 256;
  float *A, *B, *C;
  for (float** array : {&A, &B, &C})
    if (cudaMalloc(array, kSide * kSide * sizeof(float)) != cudaSuccess) return 4;
  struct {
    const char* name;
    void (*run)(const kernels::Gemm<float>&, cudaStream_t);
    std::vector<double> values;
  } rungs[] = {{"gemm/01_naive", kernels::gemm_naive, {}},
               {"gemm/02_coalesced", kernels::gemm_coalesced, {}},
               {"gemm/03_shared_tile", kernels::gemm_shared_tile, {}}};
  for (int round = 0; round < rounds; ++round) {
    for (auto& rung : rungs) {
      const auto start = std::chrono::steady_clock::now();
      hostcuda::trace::begin();
      rung.run({A, kSide, B, kSide, C, kSide, kSide, kSide, kSide}, nullptr);
      double accesses = 0;
      for (const auto& trace : hostcuda::trace::end()) {
        const auto& f = trace.figures;
        for (const auto& t : {f.global_load, f.global_store, f.shared_load, f.shared_store})
          accesses += static_cast<double>(t.lanes);
      }
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      rung.values.push_back(seconds / accesses * 1e9);
    }
  }
  for (auto& rung : rungs) {
    std::sort(rung.values.begin(), rung.values.end());
    std::printf("%-22s %6.1f ns an access [%.1f, %.1f]\n", rung.name, rung.values[rung.values.size() / 2],
                rung.values.front(), rung.values.back());
  }
  return 0;
}
