// CUDA's device language on a CPU: qualifiers, built-in variables, barriers and warp operations.
// Barriers and warp operations remember the line they were called from, which is how divergence is named.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>

#include "vector_types.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __managed__
// A block never leaves its CPU thread. constinit, or g++ constructs classes at first use, behind a guard.
#define __shared__ constinit static thread_local
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__ inline __attribute__((always_inline))

namespace hostcuda {

// The built-in variables of the CUDA thread that runs on this CPU thread.
struct ThreadContext {
  uint3 thread, block, block_dim, grid_dim;
};

// The same for a kernel marked LATHE_FLAT (hostcuda/portable/launch.h): an index looks like an unsigned int,
// but adding it to a 64-bit number keeps 64 bits. g++ then sees that the usual global index is the counter of
// the loop over threads, splits the loop at `i < n`, and vectorises it.
struct FlatIndex {
  int64_t value;
  constexpr operator unsigned int() const { return static_cast<unsigned int>(value); }
  template <std::integral T>
  explicit constexpr operator T() const {
    return static_cast<T>(value);
  }
  template <std::integral T>
  requires(sizeof(T) == 8) friend constexpr T operator+(T a, FlatIndex b) {
    return a + static_cast<T>(b.value);
  }
  template <std::integral T>
  requires(sizeof(T) == 8) friend constexpr T operator+(FlatIndex a, T b) {
    return static_cast<T>(a.value) + b;
  }
};
struct FlatIndex3 {
  FlatIndex x, y, z;
};
struct FlatThread {
  FlatIndex3 thread, block, block_dim, grid_dim;
};

// A call site of a barrier or a warp operation.
struct Site {
  const char* file;
  int line;
  bool operator==(const Site&) const = default;
};

enum class BarrierKind { sync, count, all, any };
enum class WarpKind : uint8_t {
  sync,
  ballot,
  shuffle,
  shuffle_up,
  shuffle_down,
  shuffle_xor,
  active_mask,
  collective,  // hostcuda/execution/warp_collective.h
};

// The two that change fibers are entered through stubs: hostcuda/execution/switch_stack.h.
int block_barrier(BarrierKind kind, bool predicate, Site site) asm("hostcuda_block_barrier");
// sync: 0; ballot: the lanes with value != 0; shuffles: the value of lane `source`.
uint64_t warp_operation(WarpKind kind, unsigned int mask, uint64_t value, int source,
                        Site site) asm("hostcuda_warp_operation");
int lane_id();
void* dynamic_shared();  // this block's dynamic shared memory, aligned to 1024 bytes

}  // namespace hostcuda

extern __thread hostcuda::ThreadContext hostcuda_thread;
#ifdef LATHE_TRACED  // out of line, so that reading them is no traced access; constant during a kernel
namespace hostcuda {
[[gnu::const]] uint3 thread_index();
[[gnu::const]] uint3 block_index();
[[gnu::const]] uint3 block_dimensions();
[[gnu::const]] uint3 grid_dimensions();
}  // namespace hostcuda
#define threadIdx (hostcuda::thread_index())
#define blockIdx (hostcuda::block_index())
#define blockDim (hostcuda::block_dimensions())
#define gridDim (hostcuda::grid_dimensions())
#else
#define threadIdx (hostcuda_thread.thread)
#define blockIdx (hostcuda_thread.block)
#define blockDim (hostcuda_thread.block_dim)
#define gridDim (hostcuda_thread.grid_dim)
#endif
constexpr int warpSize = 32;

#define HOSTCUDA_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(HOSTCUDA_SITE) {
  hostcuda::block_barrier(hostcuda::BarrierKind::sync, false, {file, line});
}
inline int __syncthreads_count(int predicate, HOSTCUDA_SITE) {
  return hostcuda::block_barrier(hostcuda::BarrierKind::count, predicate != 0, {file, line});
}
inline int __syncthreads_and(int predicate, HOSTCUDA_SITE) {
  return hostcuda::block_barrier(hostcuda::BarrierKind::all, predicate != 0, {file, line});
}
inline int __syncthreads_or(int predicate, HOSTCUDA_SITE) {
  return hostcuda::block_barrier(hostcuda::BarrierKind::any, predicate != 0, {file, line});
}
inline void __syncwarp(unsigned int mask = 0xffffffffu, HOSTCUDA_SITE) {
  hostcuda::warp_operation(hostcuda::WarpKind::sync, mask, 0, 0, {file, line});
}
inline unsigned int __ballot_sync(unsigned int mask, int predicate, HOSTCUDA_SITE) {
  return static_cast<unsigned int>(
      hostcuda::warp_operation(hostcuda::WarpKind::ballot, mask, predicate != 0, 0, {file, line}));
}
inline int __any_sync(unsigned int mask, int predicate, HOSTCUDA_SITE) {
  return __ballot_sync(mask, predicate, file, line) != 0;
}
inline int __all_sync(unsigned int mask, int predicate, HOSTCUDA_SITE) {
  return __ballot_sync(mask, predicate == 0, file, line) == 0;
}
inline unsigned int __activemask(HOSTCUDA_SITE) {
  return static_cast<unsigned int>(
      hostcuda::warp_operation(hostcuda::WarpKind::active_mask, 0xffffffffu, 0, 0, {file, line}));
}

namespace hostcuda {
// `source` outside the lane's segment of `width` lanes means: the lane keeps its own value (PTX shfl.sync).
template <typename T>
T shuffle(WarpKind kind, unsigned int mask, T value, int source, bool in_segment, Site site) {
  static_assert(sizeof(T) <= 8, "shuffles move at most 8 bytes");
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = warp_operation(kind, mask, bits, in_segment ? source : lane_id(), site);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
}  // namespace hostcuda

template <typename T>
T __shfl_sync(unsigned int mask, T value, int source, int width = 32, HOSTCUDA_SITE) {
  int segment = hostcuda::lane_id() & ~(width - 1);
  return hostcuda::shuffle(hostcuda::WarpKind::shuffle, mask, value, segment + (source & (width - 1)), true,
                           {file, line});
}
template <typename T>
T __shfl_up_sync(unsigned int mask, T value, unsigned int delta, int width = 32, HOSTCUDA_SITE) {
  int lane = hostcuda::lane_id(), segment = lane & ~(width - 1), source = lane - static_cast<int>(delta & 31);
  return hostcuda::shuffle(hostcuda::WarpKind::shuffle_up, mask, value, source, source >= segment,
                           {file, line});
}
template <typename T>
T __shfl_down_sync(unsigned int mask, T value, unsigned int delta, int width = 32, HOSTCUDA_SITE) {
  int lane = hostcuda::lane_id(), last = lane | (width - 1), source = lane + static_cast<int>(delta & 31);
  return hostcuda::shuffle(hostcuda::WarpKind::shuffle_down, mask, value, source, source <= last,
                           {file, line});
}
template <typename T>
T __shfl_xor_sync(unsigned int mask, T value, int lane_mask, int width = 32, HOSTCUDA_SITE) {
  int lane = hostcuda::lane_id(), last = lane | (width - 1), source = lane ^ (lane_mask & 31);
  return hostcuda::shuffle(hostcuda::WarpKind::shuffle_xor, mask, value, source, source <= last,
                           {file, line});
}
#undef HOSTCUDA_SITE
