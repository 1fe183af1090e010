// Random numbers that depend on a counter alone: Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011, "Parallel
// random numbers: as easy as 1, 2, 3"). No state, so a number never depends on threads, workers, devices or
// on whether it is computed again. For the CPU and for kernels.
//
//   philox(seed, random_stream(RandomUse::augment, 0, epoch), sample)    four 32-bit words
//   uniform(word)                                                        in [0, 1)
//   below(word, n)                                                       an integer in [0, n)
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lathe::kernels {

struct Philox4 {
  uint32_t word[4];
  __host__ __device__ uint32_t operator[](int i) const { return word[i]; }
};

// The bare generator, as Random123's philox4x32_R(10, …).
__host__ __device__ inline Philox4 philox4x32_10(Philox4 counter, uint32_t key0, uint32_t key1) {
  uint32_t a = counter.word[0], b = counter.word[1], c = counter.word[2], d = counter.word[3];
  for (int round = 0; round < 10; ++round) {
    uint64_t ac = uint64_t{0xD2511F53u} * a;
    uint64_t ca = uint64_t{0xCD9E8D57u} * c;
    uint32_t next_a = static_cast<uint32_t>(ca >> 32) ^ b ^ key0;
    uint32_t next_c = static_cast<uint32_t>(ac >> 32) ^ d ^ key1;
    b = static_cast<uint32_t>(ca);
    d = static_cast<uint32_t>(ac);
    a = next_a;
    c = next_c;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return {{a, b, c, d}};
}

// What a random number is for; different uses never share numbers. The values are part of what makes runs
// reproducible: never renumber.
enum class RandomUse : uint8_t { dropout = 0, augment = 1, shuffle = 2, init = 3, pictures = 4, split = 5 };

// A stream's name: a use, an index within it (a layer, a parameter; 16 bits) and a step or epoch (40 bits).
__host__ __device__ constexpr uint64_t random_stream(RandomUse use, uint64_t index, uint64_t step) {
  return static_cast<uint64_t>(use) << 56 | (index & 0xFFFFu) << 40 | (step & 0xFFFFFFFFFFu);
}

// The `counter`-th four words of a stream.
__host__ __device__ inline Philox4 philox(uint64_t seed, uint64_t stream, uint64_t counter) {
  return philox4x32_10({{static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
                         static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)}},
                       static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
}

// Uniform in [0, 1): the top 24 bits, so every value is exact in a float and 1 never comes out.
__host__ __device__ inline float uniform(uint32_t word) {
  return static_cast<float>(static_cast<int32_t>(word >> 8)) * (1.0f / 16777216.0f);
}

// Uniform in [0, n), n > 0: a scaled word, biased by at most n / 2^32 (Lemire's method without rejection).
__host__ __device__ inline uint32_t below(uint32_t word, uint32_t n) {
  return static_cast<uint32_t>((uint64_t{word} * n) >> 32);
}

}  // namespace lathe::kernels
