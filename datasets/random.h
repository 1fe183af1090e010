// A small seeded generator for what the host decides: shuffles, splits and the built-in pictures.
// (What the device draws comes from Philox, kernels/random.) The same numbers on every platform: no std::
// distribution is used.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace lathe {

// The finaliser of splitmix64 (Steele, Lea & Flood 2014): a bijection of 64 bits that mixes well.
inline uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// splitmix64, started from a key such as {seed, split, index}: unlike keys give unrelated sequences.
class Random {
 public:
  Random(std::initializer_list<uint64_t> key) {
    for (uint64_t part : key) state_ = mix(state_ + 0x9e3779b97f4a7c15u) ^ mix(part + 0x632be59bd9b4e019u);
  }
  uint64_t bits() { return mix(state_ += 0x9e3779b97f4a7c15u); }
  // In [0,1), a multiple of 2^-24, so that it is exact in float.
  float uniform() { return static_cast<float>(bits() >> 40) * 0x1p-24f; }
  float uniform(float low, float high) { return low + (high - low) * uniform(); }
  bool chance(float probability) { return uniform() < probability; }
  // In [0,n), without bias: draws from the incomplete last block are repeated.
  uint64_t below(uint64_t n) {
    const uint64_t limit = UINT64_MAX - UINT64_MAX % n;
    uint64_t draw = bits();
    while (draw >= limit) draw = bits();
    return draw % n;
  }

 private:
  uint64_t state_ = 0;
};

// Fisher-Yates: every permutation is equally likely.
template <typename T>
void shuffle(std::vector<T>& items, Random random) {
  for (uint64_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

}  // namespace lathe
