// CUDA's device arithmetic on a CPU: math functions, bit tricks, casts, atomics, fences.
// The fast intrinsics (__expf, __fdividef, …) are the accurate functions here.
#pragma once

#include <math.h>

#include <atomic>
#include <bit>
#include <cstdint>

// g++ calls the library for these, unless NaN may be forgotten; inline they vectorise. The definitions only
// inline (gnu_inline): the library's functions remain what they are. A NaN argument loses, and -0 may equal
// +0, as in C.
#define HOSTCUDA_INLINE_C extern "C" inline __attribute__((gnu_inline, always_inline, artificial))
HOSTCUDA_INLINE_C float fmaxf(float a, float b) noexcept { return b != b || a > b ? a : b; }
HOSTCUDA_INLINE_C float fminf(float a, float b) noexcept { return b != b || a < b ? a : b; }
HOSTCUDA_INLINE_C double fmax(double a, double b) noexcept { return b != b || a > b ? a : b; }
HOSTCUDA_INLINE_C double fmin(double a, double b) noexcept { return b != b || a < b ? a : b; }
#undef HOSTCUDA_INLINE_C

// min and max as CUDA overloads them: mixed signedness compares as unsigned, 64-bit wins over 32-bit.
#define HOSTCUDA_MIN_MAX(result, a_type, b_type)                         \
  constexpr result min(a_type a, b_type b) {                             \
    const result u = static_cast<result>(a), v = static_cast<result>(b); \
    return u < v ? u : v;                                                \
  }                                                                      \
  constexpr result max(a_type a, b_type b) {                             \
    const result u = static_cast<result>(a), v = static_cast<result>(b); \
    return u > v ? u : v;                                                \
  }
HOSTCUDA_MIN_MAX(int, int, int)
HOSTCUDA_MIN_MAX(unsigned int, unsigned int, unsigned int)
HOSTCUDA_MIN_MAX(unsigned int, int, unsigned int)
HOSTCUDA_MIN_MAX(unsigned int, unsigned int, int)
HOSTCUDA_MIN_MAX(long, long, long)
HOSTCUDA_MIN_MAX(unsigned long, unsigned long, unsigned long)
HOSTCUDA_MIN_MAX(unsigned long, long, unsigned long)
HOSTCUDA_MIN_MAX(unsigned long, unsigned long, long)
HOSTCUDA_MIN_MAX(long long, long long, long long)
HOSTCUDA_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
HOSTCUDA_MIN_MAX(unsigned long long, long long, unsigned long long)
HOSTCUDA_MIN_MAX(unsigned long long, unsigned long long, long long)
#undef HOSTCUDA_MIN_MAX
// On floats they are fminf and fmaxf: a NaN argument loses.
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline double min(float a, double b) { return fmin(a, b); }
inline double min(double a, float b) { return fmin(a, b); }
inline double max(float a, double b) { return fmax(a, b); }
inline double max(double a, float b) { return fmax(a, b); }

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __tanhf(float x) { return tanhf(x); }
inline float __frsqrt_rn(float x) { return static_cast<float>(1.0 / sqrt(static_cast<double>(x))); }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __saturatef(float x) {
  return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;
}  // NaN gives 0, as in CUDA
// These are never contracted into a multiply-add.
inline float __fadd_rn(float a, float b) {
  volatile float sum = a + b;
  return sum;
}
inline float __fsub_rn(float a, float b) {
  volatile float difference = a - b;
  return difference;
}
inline float __fmul_rn(float a, float b) {
  volatile float product = a * b;
  return product;
}

inline unsigned int __float_as_uint(float x) { return std::bit_cast<unsigned int>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __uint_as_float(unsigned int x) { return std::bit_cast<float>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
inline int __float2int_rn(float x) { return static_cast<int>(rintf(x)); }
inline int __float2int_rz(float x) { return static_cast<int>(x); }
inline int __float2int_rd(float x) { return static_cast<int>(floorf(x)); }
inline int __float2int_ru(float x) { return static_cast<int>(ceilf(x)); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned int x) { return static_cast<float>(x); }

inline unsigned int __umulhi(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>((static_cast<uint64_t>(a) * b) >> 32);
}
inline int __mulhi(int a, int b) { return static_cast<int>((static_cast<int64_t>(a) * b) >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
inline int __popc(unsigned int x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned int>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned int __brev(unsigned int x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}

template <typename T>
T __ldg(const T* pointer) {
  return *pointer;
}
template <typename T>
T __ldcs(const T* pointer) {
  return *pointer;
}
template <typename T>
void __stcs(T* pointer, T value) {
  *pointer = value;
}

// Atomics are relaxed, as on a GPU: ordering needs a fence. Each returns the old value.
template <typename T, typename Update>
T hostcuda_atomic_update(T* address, Update update) {
  T old;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  for (;;) {
    T next = update(old);
    if (__atomic_compare_exchange(address, &old, &next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return old;
  }
}
#define HOSTCUDA_INTEGER_ATOMICS(T)                                                          \
  inline T atomicAdd(T* p, T v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }       \
  inline T atomicSub(T* p, T v) { return __atomic_fetch_sub(p, v, __ATOMIC_RELAXED); }       \
  inline T atomicAnd(T* p, T v) { return __atomic_fetch_and(p, v, __ATOMIC_RELAXED); }       \
  inline T atomicOr(T* p, T v) { return __atomic_fetch_or(p, v, __ATOMIC_RELAXED); }         \
  inline T atomicXor(T* p, T v) { return __atomic_fetch_xor(p, v, __ATOMIC_RELAXED); }       \
  inline T atomicExch(T* p, T v) { return __atomic_exchange_n(p, v, __ATOMIC_RELAXED); }     \
  inline T atomicMin(T* p, T v) {                                                            \
    return hostcuda_atomic_update(p, [v](T old) { return old < v ? old : v; });              \
  }                                                                                          \
  inline T atomicMax(T* p, T v) {                                                            \
    return hostcuda_atomic_update(p, [v](T old) { return old > v ? old : v; });              \
  }                                                                                          \
  inline T atomicCAS(T* p, T expected, T v) {                                                \
    __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
    return expected;                                                                         \
  }
HOSTCUDA_INTEGER_ATOMICS(int)
HOSTCUDA_INTEGER_ATOMICS(unsigned int)
HOSTCUDA_INTEGER_ATOMICS(unsigned long long)
#undef HOSTCUDA_INTEGER_ATOMICS
inline float atomicAdd(float* p, float v) {
  return hostcuda_atomic_update(p, [v](float old) { return old + v; });
}
inline double atomicAdd(double* p, double v) {
  return hostcuda_atomic_update(p, [v](double old) { return old + v; });
}
inline float atomicExch(float* p, float v) {
  return hostcuda_atomic_update(p, [v](float) { return v; });
}
inline unsigned int atomicInc(unsigned int* p, unsigned int limit) {
  return hostcuda_atomic_update(p, [limit](unsigned int old) { return old >= limit ? 0u : old + 1; });
}

#ifdef __SANITIZE_THREAD__
// ThreadSanitizer does not model fences; it does model a read-modify-write that every fence shares.
inline std::atomic<int> hostcuda_fence{0};
inline void __threadfence() { hostcuda_fence.fetch_add(1); }
#else
inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
#endif
inline void __threadfence_block() { __threadfence(); }
inline void __threadfence_system() { __threadfence(); }
