// Eight 16-bit numbers at a time, where the addresses allow it: fp16 and bf16.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lathe::kernels {

// Whether all rows of a matrix begin at a multiple of 16 bytes.
template <typename T>
bool rows_take_16_bytes(const T* matrix, int64_t leading) {
  static_assert(sizeof(T) == 2);
  return reinterpret_cast<uintptr_t>(matrix) % 16 == 0 && leading % 8 == 0;
}

// to[0 … 7] = row[column … column + 7], 0 at and after `end`; `to` is a multiple of 16 bytes. Wide: one load
// and one store, unless the row ends within it.
template <bool kWide, typename T>
__device__ inline void copy8(T* to, const T* row, int64_t column, int64_t end) {
  if (kWide && column + 8 <= end) {
    *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(row + column);
    return;
  }
  for (int i = 0; i < 8; ++i) to[i] = column + i < end ? row[column + i] : T(0.0f);
}

// row[column … column + 7] = max(0, sums + bias), nothing at and after `end`; `bias` may be null, max(0, ·)
// is for relu alone and keeps NaN. `sums` is a multiple of 16 bytes.
template <bool kWide, typename T>
__device__ inline void finish8(T* row, int64_t column, int64_t end, const float* sums, const T* bias,
                               bool relu) {
  const float4 low = reinterpret_cast<const float4*>(sums)[0],
               high = reinterpret_cast<const float4*>(sums)[1];
  const float eight[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  __align__(16) T values[8];
  for (int i = 0; i < 8; ++i) {
    float sum = eight[i];
    if (bias != nullptr && column + i < end) sum += static_cast<float>(bias[column + i]);
    values[i] = T(relu && sum < 0.0f ? 0.0f : sum);
  }
  if (kWide && column + 8 <= end) {
    *reinterpret_cast<uint4*>(row + column) = *reinterpret_cast<const uint4*>(values);
    return;
  }
  for (int i = 0; i < 8; ++i)
    if (column + i < end) row[column + i] = values[i];
}

}  // namespace lathe::kernels
