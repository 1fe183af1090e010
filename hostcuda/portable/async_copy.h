// Copies from global to shared memory that run beside the thread (PTX cp.async), for nvcc and for g++ with
// hostcuda.
//
//   cp_async<16>(&tile[i], &x[j]);           // 4, 8 or 16 bytes, both addresses multiples of that
//   cp_async<16>(&tile[i], &x[j], valid);    // only `valid` bytes are read, 0 to 16; the others become zero
//   cp_async_commit();                       // all copies of this thread since the last commit: one group
//   cp_async_wait<1>();                      // this thread's groups are done, but the newest 1
//   __syncthreads();                         // now the others may read them too
//
// 16 bytes bypass the L1 cache (.cg), 4 and 8 go through it (.ca). Before sm_80, which lacks the
// instruction, a copy is an ordinary load and store, done when cp_async returns: a kernel stays right and
// loses the overlap.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#ifdef __CUDACC__

namespace lathe {

template <int bytes>
__device__ __forceinline__ void cp_async(void* shared, const void* global, int valid = bytes) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "what cp.async copies");
#if __CUDA_ARCH__ >= 800
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(valid)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(bytes),
                 "r"(valid)
                 : "memory");
  }
#else
  using Word = std::conditional_t<bytes == 16, uint4, std::conditional_t<bytes == 8, uint2, unsigned int>>;
  if (valid == bytes) {
    *static_cast<Word*>(shared) = *static_cast<const Word*>(global);
    return;
  }
#pragma unroll 1
  for (int i = 0; i < bytes; ++i) {
    static_cast<char*>(shared)[i] = i < valid ? static_cast<const char*>(global)[i] : char(0);
  }
#endif
}

__device__ __forceinline__ void cp_async_commit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int groups>
__device__ __forceinline__ void cp_async_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
#endif
}

__device__ __forceinline__ void cp_async_wait_all() {  // uncommitted copies too
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

}  // namespace lathe

#else

#include "hostcuda/execution/async_copy.h"

namespace lathe {

// Inlined always: a tracer is given the address of the call in the kernel.
#define LATHE_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

template <int bytes>
__forceinline__ void cp_async(void* shared, const void* global, int valid = bytes, LATHE_SITE) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "what cp.async copies");
  hostcuda::async_copy(shared, global, bytes, valid, {file, line});
}
__forceinline__ void cp_async_commit(LATHE_SITE) { hostcuda::async_copy_commit({file, line}); }
template <int groups>
__forceinline__ void cp_async_wait(LATHE_SITE) {
  hostcuda::async_copy_wait(groups, {file, line});
}
__forceinline__ void cp_async_wait_all(LATHE_SITE) {
  hostcuda::async_copy_commit({file, line});
  hostcuda::async_copy_wait(0, {file, line});
}
#undef LATHE_SITE

}  // namespace lathe
#endif
