// Four floats at a time, where the addresses allow it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace lathe::kernels {

// Whether all rows of a matrix begin at a multiple of 16 bytes, as a float4 has to.
inline bool rows_take_float4(const float* matrix, int64_t leading) {
  return reinterpret_cast<uintptr_t>(matrix) % sizeof(float4) == 0 && leading % 4 == 0;
}

// row[column … column + 3], 0 at and after `end`. Wide: one load, unless the row ends within it.
template <bool kWide>
__device__ inline float4 load4(const float* row, int64_t column, int64_t end) {
  if (kWide && column + 4 <= end) return *reinterpret_cast<const float4*>(row + column);
  return make_float4(column < end ? row[column] : 0, column + 1 < end ? row[column + 1] : 0,
                     column + 2 < end ? row[column + 2] : 0, column + 3 < end ? row[column + 3] : 0);
}

// The same for stores: nothing at and after `end`.
template <bool kWide>
__device__ inline void store4(float* row, int64_t column, int64_t end, float4 value) {
  if (kWide && column + 4 <= end) {
    *reinterpret_cast<float4*>(row + column) = value;
    return;
  }
  if (column < end) row[column] = value.x;
  if (column + 1 < end) row[column + 1] = value.y;
  if (column + 2 < end) row[column + 2] = value.z;
  if (column + 3 < end) row[column + 3] = value.w;
}

// registers[0 … 3] = four floats of shared memory, in one load.
__device__ inline void read4(float* registers, const float* shared) {
  const float4 value = *reinterpret_cast<const float4*>(shared);
  registers[0] = value.x, registers[1] = value.y, registers[2] = value.z, registers[3] = value.w;
}

}  // namespace lathe::kernels
