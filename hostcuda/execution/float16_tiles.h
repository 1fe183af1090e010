// The arithmetic of tensor cores on a CPU: 16-bit codes to float, and the product of small tiles.
#pragma once

#include <cstdint>
#include <cstring>

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

// sum[m][n] += Σ_k a[m][k] · b[k][n].
template <int M, int N, int K>
void add_product(const float (&a)[M][K], const float (&b)[K][N], float (&sum)[M][N]) {
  for (int m = 0; m < M; ++m) {
    float row[N];
    std::memcpy(row, sum[m], sizeof row);
    for (int k = 0; k < K; ++k) {
      for (int n = 0; n < N; ++n) row[n] += a[m][k] * b[k][n];
    }
    std::memcpy(sum[m], row, sizeof row);
  }
}

}  // namespace hostcuda
