// Several neighbouring numbers moved by one instruction; 128 bits are the widest that every GPU has.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lathe::kernels {

template <typename T, int kWidth = 16 / sizeof(T)>
struct alignas(sizeof(T) * kWidth) Vector {
  static constexpr int width = kWidth;
  static_assert(sizeof(T) * kWidth <= 16 && (kWidth & (kWidth - 1)) == 0);
  T at[kWidth];
};

// x[i], x[i+1], …: whole, or the few that are left at the end of x[n]. x + i must be aligned to the vector.
template <int kWidth, typename T>
__device__ inline Vector<T, kWidth> load_vector(const T* x, int64_t i, int64_t n) {
  Vector<T, kWidth> v;
  if (i + kWidth <= n) {
    v = *reinterpret_cast<const Vector<T, kWidth>*>(x + i);
  } else {
    for (int k = 0; k < kWidth; ++k) v.at[k] = i + k < n ? x[i + k] : T(0.0f);
  }
  return v;
}

template <int kWidth, typename T>
__device__ inline void store_vector(T* x, int64_t i, int64_t n, const Vector<T, kWidth>& v) {
  if (i + kWidth <= n) {
    *reinterpret_cast<Vector<T, kWidth>*>(x + i) = v;
  } else {
    for (int k = 0; k < kWidth; ++k) {
      if (i + k < n) x[i + k] = v.at[k];
    }
  }
}

// Whether all pointers are aligned to `bytes`.
template <typename... T>
bool aligned_to(uintptr_t bytes, const T*... pointers) {
  return ((reinterpret_cast<uintptr_t>(pointers) % bytes == 0) && ...);
}

}  // namespace lathe::kernels
