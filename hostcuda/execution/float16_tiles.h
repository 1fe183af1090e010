// The arithmetic of tensor cores on a CPU: 16-bit codes to float, and the product of small tiles.
#pragma once

#include <cstdint>

#include "half_types.h"

namespace hostcuda {

// `codes` holds `count` 16-bit numbers.
template <bool bfloat16>
void decode(const void* codes, float* values, int count) {
  const auto* from = static_cast<const uint16_t*>(codes);
  int i = 0;
#ifdef __F16C__
  for (; !bfloat16 && i + 8 <= count; i += 8) {
    _mm256_storeu_ps(values + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  }
#endif
  for (; i < count; ++i) values[i] = bfloat16 ? Bfloat16Format::decode(from[i]) : HalfFormat::decode(from[i]);
}

// sum[m][n] += Σ_k a[m][k] · b[k][n]. Four rows at a time, so that four sums are under way.
template <int M, int N, int K>
void add_product(const float (&a)[M][K], const float (&b)[K][N], float (&sum)[M][N]) {
  static_assert(M % 4 == 0 && N % 8 == 0);
  typedef float Eight __attribute__((vector_size(32), aligned(4)));  // g++ alone vectorises the loop over k
  for (int m = 0; m < M; m += 4) {
    for (int n = 0; n < N; n += 8) {
      Eight row[4];
      for (int i = 0; i < 4; ++i) row[i] = *reinterpret_cast<const Eight*>(&sum[m + i][n]);
      for (int k = 0; k < K; ++k) {
        const Eight factor = *reinterpret_cast<const Eight*>(&b[k][n]);
        for (int i = 0; i < 4; ++i) row[i] += a[m + i][k] * factor;
      }
      for (int i = 0; i < 4; ++i) *reinterpret_cast<Eight*>(&sum[m + i][n]) = row[i];
    }
  }
}

}  // namespace hostcuda
