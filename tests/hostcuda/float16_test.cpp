// Half and bfloat16: every code there and back, every rounding boundary, hardware and software alike.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

namespace {

uint16_t half_code(float x) { return __half_as_ushort(__float2half(x)); }
uint16_t bfloat16_code(float x) { return __bfloat16_as_ushort(__float2bfloat16(x)); }
uint16_t bfloat16_code_of_bits(uint32_t bits) { return bfloat16_code(std::bit_cast<float>(bits)); }

TEST(Half, KnownValues) {
  EXPECT_EQ(half_code(65504.0f), 0x7bff);
  EXPECT_EQ(half_code(std::nextafterf(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(half_code(65520.0f), 0x7c00);
  EXPECT_EQ(half_code(0x1p-14f), 0x0400);
  EXPECT_EQ(half_code(0x1p-24f), 0x0001);
  EXPECT_EQ(half_code(0x1p-25f), 0x0000);
  EXPECT_EQ(half_code(std::nextafterf(0x1p-25f, 1.0f)), 0x0001);
  EXPECT_EQ(half_code(1 + 0x1p-11f), 0x3c00);
  EXPECT_EQ(half_code(1 + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(half_code(0.1f), 0x2e66);
  EXPECT_EQ(half_code(-0.0f), 0x8000);
  EXPECT_EQ(half_code(INFINITY), 0x7c00);
  EXPECT_TRUE(std::isnan(__half2float(__float2half(NAN))));
  EXPECT_TRUE(std::isnan(__half2float(__float2half(std::bit_cast<float>(0x7f800001u)))));
}

TEST(Bfloat16, KnownValues) {
  EXPECT_EQ(bfloat16_code_of_bits(0x3f808000), 0x3f80);
  EXPECT_EQ(bfloat16_code_of_bits(0x3f808001), 0x3f81);
  EXPECT_EQ(bfloat16_code_of_bits(0x3f818000), 0x3f82);
  EXPECT_EQ(bfloat16_code(3.14f), 0x4049);
  EXPECT_EQ(bfloat16_code_of_bits(0x7f7fffff), 0x7f80);
  EXPECT_EQ(bfloat16_code(-0.0f), 0x8000);
  for (uint32_t nan : {0x7f800001u, 0x7fff8c22u, 0xff800001u, 0x7fffffffu}) {
    EXPECT_TRUE(std::isnan(__bfloat162float(__float2bfloat16(std::bit_cast<float>(nan))))) << std::hex << nan;
  }
}

TEST(Half, EveryCodeRoundTripsAndSoftwareAgrees) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const auto c = static_cast<uint16_t>(code);
    const float value = __half2float(__ushort_as_half(c)), software = hostcuda::half_value_software(c);
    ASSERT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(software)) << std::hex << code;
    if (std::isnan(value)) {
      ASSERT_GT(code & 0x7fffu, 0x7c00u);
      ASSERT_TRUE(std::isnan(__half2float(__float2half(value))));
    } else {
      ASSERT_EQ(half_code(value), c) << std::hex << code;
      ASSERT_EQ(hostcuda::half_code_software(value), c) << std::hex << code;
    }
  }
}

TEST(Bfloat16, EveryCodeRoundTrips) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const auto c = static_cast<uint16_t>(code);
    const float value = __bfloat162float(__ushort_as_bfloat16(c));
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(__bfloat162float(__float2bfloat16(value))));
    } else {
      ASSERT_EQ(bfloat16_code(value), c) << std::hex << code;
    }
  }
}

// Between two neighbours: the middle goes to the even one, anything nearer to the nearer.
TEST(Half, EveryRoundingBoundary) {
  for (uint16_t code = 0; code < 0x7bff; ++code) {
    const float low = hostcuda::half_value_software(code), high = hostcuda::half_value_software(code + 1);
    const float middle = (low + high) / 2;  // exact
    const uint16_t even = code % 2 == 0 ? code : code + 1;
    for (uint16_t sign : {0, 0x8000}) {
      const float s = sign != 0 ? -1.0f : 1.0f;
      for (auto encode : {+[](float x) { return half_code(x); },
                          +[](float x) { return hostcuda::half_code_software(x); }}) {
        ASSERT_EQ(encode(s * middle), even | sign) << std::hex << code;
        ASSERT_EQ(encode(s * std::nextafterf(middle, low)), code | sign) << std::hex << code;
        ASSERT_EQ(encode(s * std::nextafterf(middle, high)), (code + 1) | sign) << std::hex << code;
      }
    }
  }
}

TEST(Half, SoftwareEqualsHardwareOnRandomBits) {
  std::mt19937 random(7);
  for (int i = 0; i < 500000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    ASSERT_EQ(hostcuda::half_code_software(value), half_code(value))
        << std::hex << std::bit_cast<uint32_t>(value);
  }
}

// From double there is one rounding: 1 + 2^-11 + 2^-40 is above the middle, though as a float it is the
// middle.
TEST(Half, DoubleIsRoundedOnce) {
  EXPECT_EQ(__half_as_ushort(__double2half(1 + 0x1p-11 + 0x1p-40)), 0x3c01);
  EXPECT_EQ(__half_as_ushort(__double2half(1 + 0x1p-11)), 0x3c00);
  EXPECT_EQ(__half_as_ushort(__double2half(-(1 + 0x1p-11 + 0x1p-40))), 0xbc01);
  EXPECT_EQ(__half_as_ushort(__double2half(1 + 3 * 0x1p-11 - 0x1p-40)), 0x3c01);
  EXPECT_EQ(__half_as_ushort(__hfma(__half(1 + 0x1p-10f), __half(1 + 0x1p-10f), __half(-1.0f))),
            half_code(0x1p-9f + 0x1p-20f));
}

TEST(Half, ArithmeticAndPairs) {
  const __half a = __float2half(1.5f), b = __float2half(-0.25f);
  EXPECT_EQ(__half2float(a + b), 1.25f);
  EXPECT_EQ(__half2float(a * b), -0.375f);
  EXPECT_EQ(__half2float(__hmax(a, __float2half(NAN))), 1.5f);
  EXPECT_TRUE(a > b);
  const __half2 pair = __hfma2(__floats2half2_rn(1, 2), __floats2half2_rn(3, 4), __float2half2_rn(0.5f));
  EXPECT_EQ(__low2float(pair), 3.5f);
  EXPECT_EQ(__high2float(pair), 8.5f);
  static_assert(sizeof(__half) == 2 && sizeof(__half2) == 4 && alignof(__half2) == 4);
  const float2 back = __bfloat1622float2(__floats2bfloat162_rn(0.5f, -3.0f));
  EXPECT_EQ(back.x, 0.5f);
  EXPECT_EQ(back.y, -3.0f);
}

}  // namespace
