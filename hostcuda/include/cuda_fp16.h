// CUDA's half precision type and its functions, on a CPU.
#pragma once

#include "half_types.h"

using __half = hostcuda::Float16<hostcuda::HalfFormat>;
using __half2 = hostcuda::Float16Pair<__half>;
using half = __half;
using half2 = __half2;

HOSTCUDA_FLOAT16_FUNCTIONS(__half, __half2)

inline __half __float2half(float x) { return __half(x); }
inline __half __float2half_rn(float x) { return __half(x); }
inline float __half2float(__half x) { return x.value(); }
inline __half __double2half(double x) { return __half(x); }
inline __half __int2half_rn(int x) { return __half(x); }
inline unsigned short __half_as_ushort(__half x) { return x.code; }
inline __half __ushort_as_half(unsigned short code) { return __half::from_code(code); }
inline __half2 __halves2half2(__half low, __half high) { return {low, high}; }
inline __half2 __half2half2(__half x) { return {x, x}; }
inline __half2 __float2half2_rn(float x) { return {__half(x), __half(x)}; }
inline __half2 __floats2half2_rn(float low, float high) { return {__half(low), __half(high)}; }
inline __half2 __float22half2_rn(float2 x) { return {__half(x.x), __half(x.y)}; }
inline float2 __half22float2(__half2 x) { return {x.x.value(), x.y.value()}; }
inline __half __low2half(__half2 x) { return x.x; }
inline __half __high2half(__half2 x) { return x.y; }
