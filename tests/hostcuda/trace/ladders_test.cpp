// The ladders under examination: nothing is found in any rung, and traffic is what the formulas say.
#include <gtest/gtest.h>

#include "hostcuda/hostcuda.h"
#include "hostcuda/trace/trace.h"
#include "kernels/gemm/ladder.h"
#include "kernels/study/study.h"

namespace lathe::study {
namespace {

using hostcuda::trace::Figures;
using hostcuda::trace::KernelTrace;

Figures traced_gemm(void (*rung)(const kernels::Gemm<float>&, cudaStream_t), int64_t M, int64_t N,
                    int64_t K) {
  float *A = nullptr, *B = nullptr, *C = nullptr;
  for (auto [array, n] : {std::pair{&A, M * K}, {&B, K * N}, {&C, M * N}}) {
    EXPECT_EQ(cudaMalloc(array, static_cast<size_t>(n) * sizeof(float)), cudaSuccess);
    cudaMemset(*array, 0, static_cast<size_t>(n) * sizeof(float));
  }
  hostcuda::trace::begin();
  rung({A, K, B, N, C, N, M, N, K}, nullptr);
  std::vector<KernelTrace> traces = hostcuda::trace::end();
  for (float* array : {A, B, C}) cudaFree(array);
  EXPECT_EQ(traces.size(), 1u);
  return traces.empty() ? Figures() : traces[0].figures;
}

TEST(TracedGemm, NaiveMovesASectorOfAForEachLane) {
  const int64_t M = 64, N = 32, K = 64, warps = M * N / 32;
  Figures f = traced_gemm(kernels::gemm_naive, M, N, K);
  EXPECT_EQ(f.global_load.requests, warps * K * 2);
  EXPECT_EQ(f.global_load.moved, warps * K * (32 + 1));
  EXPECT_EQ(f.global_load.bytes, 8 * M * N * K);
  EXPECT_EQ(f.global_store.moved, warps * 32);
}

TEST(TracedGemm, CoalescedMovesFourSectorsOfBAndOneOfA) {
  const int64_t M = 16, N = 64, K = 40, warps = M * N / 32;
  Figures f = traced_gemm(kernels::gemm_coalesced, M, N, K);
  EXPECT_EQ(f.global_load.moved, warps * K * (4 + 1));
  EXPECT_EQ(f.global_store.moved, warps * 4);
}

TEST(TracedGemm, TilesReadEachOperandOnceForEveryTileOfTheOther) {
  const int64_t M = 64, N = 96, K = 128, T = 32;
  Figures f = traced_gemm(kernels::gemm_shared_tile, M, N, K);
  EXPECT_EQ(f.global_load.moved * 32, 4 * M * N * K * 2 / T);
  EXPECT_EQ(f.global_load.moved, f.global_load.ideal);
  EXPECT_EQ(f.shared_load.moved, f.shared_load.ideal) << "no bank conflicts";
  EXPECT_EQ(f.shared_load.requests, 2 * M * N * K / 32);
}

class TracedLadder : public ::testing::TestWithParam<const Rung*> {
  void TearDown() override { hostcuda::reset_for_tests(); }
};

// In an order that changes turns at any access, so that what a missing barrier breaks is broken here.
TEST_P(TracedLadder, NothingIsFoundAndResultsStay) {
  for (const char* order : {"forward", "preempt:5"}) {
    hostcuda::set_thread_order(order);
    for (Element element : GetParam()->elements) {
      for (const Trial& trial : GetParam()->trials(Purpose::check_quick, element)) {
        hostcuda::trace::begin();
        const std::string wrong = run_trial(trial);
        for (const KernelTrace& trace : hostcuda::trace::end()) {
          EXPECT_EQ(trace.unpaired, 0) << trace.kernel;
          for (const auto& finding : trace.findings)
            ADD_FAILURE() << trace.kernel << ", " << trial.shape << ", " << order << ": " << finding.file
                          << ":" << finding.line << ": " << name_of(finding.kind) << ": " << finding.message;
        }
        EXPECT_EQ(wrong, "") << name_of(element) << ", " << trial.shape << ", " << order;
      }
    }
  }
}

std::vector<const Rung*> all_rungs() {
  std::vector<const Rung*> list;
  for (const Rung& rung : rungs()) list.push_back(&rung);
  return list;
}
std::string test_name(const ::testing::TestParamInfo<const Rung*>& info) {
  std::string name = info.param->id();
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Kernels, TracedLadder, ::testing::ValuesIn(all_rungs()), test_name);

}  // namespace
}  // namespace lathe::study
