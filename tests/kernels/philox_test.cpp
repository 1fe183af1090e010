// Philox against the known-answer vectors of Random123 (kat_vectors), and what the helpers promise.
#include "kernels/random/philox.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace lathe::kernels {
namespace {

TEST(Philox, KnownAnswersOfRandom123) {
  Philox4 zeros = philox4x32_10({{0, 0, 0, 0}}, 0, 0);
  EXPECT_EQ(zeros[0], 0x6627e8d5u);
  EXPECT_EQ(zeros[1], 0xe169c58du);
  EXPECT_EQ(zeros[2], 0xbc57ac4cu);
  EXPECT_EQ(zeros[3], 0x9b00dbd8u);
  const uint32_t all = 0xffffffffu;
  Philox4 ones = philox4x32_10({{all, all, all, all}}, all, all);
  EXPECT_EQ(ones[0], 0x408f276du);
  EXPECT_EQ(ones[1], 0x41c83b0eu);
  EXPECT_EQ(ones[2], 0xa20bc7c6u);
  EXPECT_EQ(ones[3], 0x6d5451fdu);
  Philox4 pi =
      philox4x32_10({{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}}, 0xa4093822u, 0x299f31d0u);
  EXPECT_EQ(pi[0], 0xd16cfe09u);
  EXPECT_EQ(pi[1], 0x94fdccebu);
  EXPECT_EQ(pi[2], 0x5001e420u);
  EXPECT_EQ(pi[3], 0x24126ea1u);
}

TEST(Philox, UniformIsBelowOneAndExactInAFloat) {
  EXPECT_EQ(uniform(0), 0.0f);
  EXPECT_EQ(uniform(0xffffffffu), 1.0f - 1.0f / 16777216.0f);
  EXPECT_EQ(uniform(0x80000000u), 0.5f);
  double sum = 0;
  for (uint64_t i = 0; i < 4096; ++i) sum += uniform(philox(1, 2, i)[3]);
  EXPECT_NEAR(sum / 4096, 0.5, 5 * 0.2887 / 64);  // five standard deviations
}

TEST(Philox, BelowCoversItsRangeEvenly) {
  int count[6] = {};
  for (uint64_t i = 0; i < 6000; ++i) ++count[below(philox(3, 0, i)[0], 6)];
  for (int c : count) EXPECT_NEAR(c, 1000, 150);
  EXPECT_EQ(below(0xffffffffu, 6), 5u);
  EXPECT_EQ(below(0xffffffffu, 1), 0u);
}

TEST(Philox, EverySeedStreamAndCounterGivesOtherNumbers) {
  std::set<std::tuple<uint32_t, uint32_t>> seen;
  int draws = 0;
  for (uint64_t seed : {0ull, 1ull, 1ull << 32}) {
    for (RandomUse use : {RandomUse::dropout, RandomUse::shuffle}) {
      for (uint64_t index : {0, 1}) {
        for (uint64_t step : {0ull, 1ull, 1ull << 33}) {
          for (uint64_t counter : {0ull, 1ull, 1ull << 32}) {
            Philox4 r = philox(seed, random_stream(use, index, step), counter);
            seen.insert({r[0], r[1]});
            ++draws;
          }
        }
      }
    }
  }
  EXPECT_EQ(static_cast<int>(seen.size()), draws);
}

}  // namespace
}  // namespace lathe::kernels
