// Ladders whose rungs promise the same bits, not only the same numbers within a tolerance.
#include <gtest/gtest.h>

#include "kernels/study/study.h"

namespace lathe::study {
namespace {

std::vector<std::byte> result_of(const Trial& trial) {
  Arrays arrays(trial);
  trial.launch(arrays.pointers(), nullptr);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  std::vector<std::byte> all;
  for (size_t i = 0; i < trial.arrays.size(); ++i) {
    const Array& array = trial.arrays[i];
    if (array.scratch || array.before.empty()) continue;
    const size_t bytes = array.before.size() * static_cast<size_t>(bytes_of(array.element));
    all.resize(all.size() + bytes);
    EXPECT_EQ(cudaMemcpy(&all[all.size() - bytes], arrays.pointers()[i], bytes, cudaMemcpyDeviceToHost),
              cudaSuccess);
  }
  return all;
}

class SameBits : public ::testing::TestWithParam<const char*> {};

TEST_P(SameBits, InEveryRung) {
  const Rung* first = nullptr;
  for (const Rung& rung : rungs()) {
    if (rung.ladder != GetParam()) continue;
    if (first == nullptr) first = &rung;
    for (Element element : rung.elements) {
      const std::vector<Trial> expected = first->trials(Purpose::check_quick, element);
      const std::vector<Trial> got = rung.trials(Purpose::check_quick, element);
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_TRUE(result_of(got[i]) == result_of(expected[i])) << rung.id() << ", " << got[i].shape;
    }
  }
  EXPECT_NE(first, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Kernels, SameBits, ::testing::Values("augment", "elementwise", "optimizer"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lathe::study
