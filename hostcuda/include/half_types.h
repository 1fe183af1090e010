// __half and __nv_bfloat16 as one template: a 16-bit code, a format that converts to and from float, and
// CUDA's operators. Sum, difference, product, quotient and square root are computed in float and rounded
// once, which gives the correctly rounded result: float has more than twice the digits.
#pragma once

#include <bit>
#include <cstdint>

#ifdef __F16C__
#include <immintrin.h>
#endif

#include "vector_types.h"

namespace hostcuda {

// IEEE binary16, in software: round to nearest even, NaN stays NaN (and becomes quiet, as hardware makes it).
constexpr uint16_t half_code_software(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffffu;
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  uint32_t code = 0;
  if (magnitude > 0x7f800000u) {
    code = 0x7e00u | (magnitude >> 13 & 0x3ffu);
  } else if (magnitude >= 0x477ff000u) {  // 65520 and more
    code = 0x7c00u;
  } else if (magnitude >= 0x38800000u) {  // 2^-14: normal
    code = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  } else if (magnitude > 0x33000000u) {  // more than 2^-25: subnormal
    const uint32_t shift = 126u - (magnitude >> 23), mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    const uint32_t half_unit = 1u << (shift - 1), low = mantissa & ((1u << shift) - 1);
    code = mantissa >> shift;
    code += static_cast<uint32_t>(low > half_unit || (low == half_unit && (code & 1u) != 0));
  }
  return static_cast<uint16_t>(sign | code);
}

constexpr float half_value_software(uint16_t code) {
  const uint32_t sign = (code & 0x8000u) << 16, exponent = code >> 10 & 0x1fu, mantissa = code & 0x3ffu;
  if (exponent == 31) {
    return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13 | (mantissa != 0 ? 0x400000u : 0u));
  }
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

struct HalfFormat {
#ifdef __F16C__
  static uint16_t encode(float value) { return _cvtss_sh(value, 0); }
  static float decode(uint16_t code) { return _cvtsh_ss(code); }
#else
  static uint16_t encode(float value) { return half_code_software(value); }
  static float decode(uint16_t code) { return half_value_software(code); }
#endif
};

struct Bfloat16Format {
  static constexpr uint16_t encode(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);  // NaN
    return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
  }
  static constexpr float decode(uint16_t code) {
    return std::bit_cast<float>(static_cast<uint32_t>(code) << 16);
  }
};

// Rounded to float with the lost digits kept in the last bit ("to odd"), so that rounding again is exact.
inline float round_to_odd(double value) {
  const auto near = static_cast<float>(value);
  const double back = near;
  if (back == value || value != value) return near;
  auto bits = std::bit_cast<uint32_t>(near);
  const bool away = (back > value) == (value > 0);
  if (away) --bits;  // towards zero
  return std::bit_cast<float>(bits | 1u);
}

template <typename Format>
struct Float16 {
  uint16_t code;

  Float16() = default;
  Float16(float value) : code(Format::encode(value)) {}
  Float16(double value) : code(Format::encode(round_to_odd(value))) {}
  Float16(int value) : Float16(static_cast<double>(value)) {}
  Float16(unsigned int value) : Float16(static_cast<double>(value)) {}
  Float16(long long value) : Float16(static_cast<double>(value)) {}
  operator float() const { return Format::decode(code); }

  static Float16 from_code(uint16_t code) {
    Float16 result;
    result.code = code;
    return result;
  }
  float value() const { return Format::decode(code); }

  friend Float16 operator+(Float16 a, Float16 b) { return Float16(a.value() + b.value()); }
  friend Float16 operator-(Float16 a, Float16 b) { return Float16(a.value() - b.value()); }
  friend Float16 operator*(Float16 a, Float16 b) { return Float16(a.value() * b.value()); }
  friend Float16 operator/(Float16 a, Float16 b) { return Float16(a.value() / b.value()); }
  friend Float16 operator-(Float16 a) { return from_code(a.code ^ 0x8000u); }
  friend Float16 operator+(Float16 a) { return a; }
  Float16& operator+=(Float16 b) { return *this = *this + b; }
  Float16& operator-=(Float16 b) { return *this = *this - b; }
  Float16& operator*=(Float16 b) { return *this = *this * b; }
  Float16& operator/=(Float16 b) { return *this = *this / b; }
  friend bool operator==(Float16 a, Float16 b) { return a.value() == b.value(); }
  friend bool operator!=(Float16 a, Float16 b) { return a.value() != b.value(); }
  friend bool operator<(Float16 a, Float16 b) { return a.value() < b.value(); }
  friend bool operator<=(Float16 a, Float16 b) { return a.value() <= b.value(); }
  friend bool operator>(Float16 a, Float16 b) { return a.value() > b.value(); }
  friend bool operator>=(Float16 a, Float16 b) { return a.value() >= b.value(); }
};

// A pair, as __half2 and __nv_bfloat162.
template <typename T>
struct alignas(4) Float16Pair {
  T x, y;

  friend Float16Pair operator+(Float16Pair a, Float16Pair b) { return {a.x + b.x, a.y + b.y}; }
  friend Float16Pair operator-(Float16Pair a, Float16Pair b) { return {a.x - b.x, a.y - b.y}; }
  friend Float16Pair operator*(Float16Pair a, Float16Pair b) { return {a.x * b.x, a.y * b.y}; }
  friend Float16Pair operator/(Float16Pair a, Float16Pair b) { return {a.x / b.x, a.y / b.y}; }
};

}  // namespace hostcuda

// The functions that CUDA names alike for both types.
#define HOSTCUDA_FLOAT16_FUNCTIONS(T, T2)                                                        \
  inline T __hadd(T a, T b) { return a + b; }                                                    \
  inline T __hsub(T a, T b) { return a - b; }                                                    \
  inline T __hmul(T a, T b) { return a * b; }                                                    \
  inline T __hdiv(T a, T b) { return a / b; }                                                    \
  inline T __hneg(T a) { return -a; }                                                            \
  inline T __habs(T a) { return T::from_code(a.code & 0x7fffu); }                                \
  /* a·b is exact in double; a·b + c there has digits to spare for one rounding to odd. */     \
  inline T __hfma(T a, T b, T c) {                                                               \
    return T(static_cast<double>(a.value()) * b.value() + static_cast<double>(c.value()));       \
  }                                                                                              \
  inline bool __hisnan(T a) { return a.value() != a.value(); }                                   \
  inline bool __heq(T a, T b) { return a == b; }                                                 \
  inline bool __hlt(T a, T b) { return a < b; }                                                  \
  inline bool __hle(T a, T b) { return a <= b; }                                                 \
  inline bool __hgt(T a, T b) { return a > b; }                                                  \
  inline bool __hge(T a, T b) { return a >= b; }                                                 \
  inline T __hmax(T a, T b) { return __hisnan(a) ? b : (__hisnan(b) || a >= b ? a : b); }        \
  inline T __hmin(T a, T b) { return __hisnan(a) ? b : (__hisnan(b) || a <= b ? a : b); }        \
  inline T hsqrt(T a) { return T(__builtin_sqrtf(a.value())); }                                  \
  inline T2 __hadd2(T2 a, T2 b) { return a + b; }                                                \
  inline T2 __hsub2(T2 a, T2 b) { return a - b; }                                                \
  inline T2 __hmul2(T2 a, T2 b) { return a * b; }                                                \
  inline T2 __hfma2(T2 a, T2 b, T2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; } \
  inline T2 __hmax2(T2 a, T2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                 \
  inline T2 __hmin2(T2 a, T2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }                 \
  inline float __low2float(T2 a) { return a.x.value(); }                                         \
  inline float __high2float(T2 a) { return a.y.value(); }
