// ReLU, bias, add, multiply, scale, dropout, cast: over odd sizes, odd addresses and every layout, with NaN
// and the corners of 16-bit conversion.
#include <cmath>

#include "tests/layers/harness.h"

namespace lathe::testing {
namespace {

const double kNaN = std::nan("");
const double kInf = HUGE_VAL;

TEST(Elementwise, EqualsTheScalarLoopAtEveryLengthAndOffset) {
  for (int64_t n : {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 255, 256, 257, 1000}) {
    Tensor a = random({n}, 1), b = random({n}, 2);
    for (int64_t offset : {0, 1, 3}) {
      Tensor y = run("add", "handwritten", {a, b}, {}, offset)[0];
      Tensor r = run("relu", "handwritten", {a}, {}, offset)[0];
      Tensor g = run("relu_gradient", "handwritten", {a, b}, {}, offset)[0];
      Tensor m = run("multiply", "handwritten", {a, b}, {}, offset)[0];
      Tensor s = run("scale", "handwritten", {a}, {{"factor", 3.0}}, offset)[0];
      for (int64_t i = 0; i < n; ++i) {
        float u = static_cast<float>(a.values[i]), v = static_cast<float>(b.values[i]);
        ASSERT_EQ(y.values[i], u + v) << n << " at " << i;
        ASSERT_EQ(r.values[i], u > 0 ? u : 0) << n << " at " << i;
        ASSERT_EQ(g.values[i], u > 0 ? v : 0) << n << " at " << i;
        ASSERT_EQ(m.values[i], u * v) << n << " at " << i;
        ASSERT_EQ(s.values[i], u * 3.0f) << n << " at " << i;
      }
    }
  }
}

TEST(Elementwise, EmptyTensorsAreNoTrouble) {
  Tensor none = random({0, 4}, 1);
  EXPECT_TRUE(run("relu", "handwritten", {none})[0].values.empty());
  EXPECT_TRUE(run("bias", "handwritten", {none, random({4}, 1)})[0].values.empty());
  expect_close(run("bias_gradient", "handwritten", {none})[0], filled({4}, 0));
}

TEST(Relu, KeepsNaNAndAgreesInEveryLayout) {
  for (const std::string& kind : Registry::instance().kinds("relu")) {
    Tensor y = run("relu", kind, {tensor({5}, {kNaN, -1, 2, kInf, -kInf})})[0];
    expect_close(y, tensor({5}, {kNaN, 0, 2, kInf, 0}), 0, 0, kind);
  }
  expect_agree("relu", {random({2, 16, 3, 5}, 1)});
  expect_agree("relu_gradient", {random({2, 16, 3, 5}, 1), random({2, 16, 3, 5}, 2)});
  check_gradient("relu", {spaced({3, 7}, 1)}, {}, {true});
}

TEST(Bias, AgreesInEveryLayoutAndSize) {
  for (const Shape& shape : {Shape{2, 16, 3, 5}, Shape{1, 1, 1, 1}, Shape{3, 48, 17, 1}, Shape{2, 3, 33, 33},
                             Shape{5, 7}, Shape{300, 33}, Shape{2, 32, 1, 1}, Shape{1, 600, 2, 2}}) {
    Tensor x = random(shape, 1), b = random({shape[1]}, 2);
    expect_agree("bias", {x, b});
    expect_agree("bias_gradient", {x});
  }
  check_gradient("bias", {random({2, 3, 2, 2}, 1), random({3}, 2)}, {}, {true, true});
}

TEST(Bias, AddsToItsChannel) {
  Tensor y = run("bias", "handwritten", {filled({1, 2, 1, 2}, 1), tensor({2}, {10, 20})})[0];
  expect_close(y, tensor({1, 2, 1, 2}, {11, 11, 21, 21}));
  expect_refused("bias", {random({2, 3}, 1), random({2}, 1)}, {}, "b is");
}

TEST(Bias, GradientOfManyIsExact) {  // 2^24 + 1 ones would stick in a float accumulator
  Tensor dy = filled({64, 1, 128, 128}, 1);
  for (double& value : dy.values) value = 16.0 + 1.0 / 1024;
  double expected = static_cast<double>(dy.values.size()) * (16.0 + 1.0 / 1024);
  expect_close(run("bias_gradient", "handwritten", {dy})[0], tensor({1}, {expected}), 1e-7, 0);
}

TEST(Arithmetic, AgreesAndHasItsGradients) {
  Tensor a = random({2, 16, 3, 3}, 1), b = random({2, 16, 3, 3}, 2), s = scalar(-1.5);
  expect_agree("add", {a, b});
  expect_agree("multiply", {a, b});
  expect_agree("multiply", {a, s});
  expect_agree("multiply", {s, s});
  expect_agree("scale", {a}, {{"factor", 0.25}});
  Tensor small = random({2, 3}, 3);
  check_gradient("add", {small, random({2, 3}, 4)}, {}, {true, true});
  check_gradient("multiply", {small, random({2, 3}, 4)}, {}, {true, true});
  check_gradient("multiply", {small, s}, {}, {true, true});
  check_gradient("multiply", {scalar(2), s}, {}, {true, true});
  check_gradient("scale", {small}, {{"factor", -2.0}}, {true});
  expect_refused("add", {small, random({3, 2}, 1)}, {}, "cannot add");
  expect_refused("multiply", {small, random({3}, 1)}, {}, "cannot multiply");
}

Attributes drop(double p, int64_t layer = 0) { return {{"p", p}, {"layer", layer}}; }
Tensor dropped(const Shape& shape, int64_t seed, int64_t step, const Attributes& attributes) {
  return run("dropout", "handwritten",
             {filled(shape, 1), scalar(static_cast<double>(seed), DType::i64),
              scalar(static_cast<double>(step), DType::i64)},
             attributes)[0];
}

TEST(Dropout, KeepsItsShareAndScalesIt) {
  Tensor y = dropped({100, 100}, 1, 1, drop(0.25));
  double kept = 0;
  for (double value : y.values) {
    EXPECT_TRUE(value == 0 || std::abs(value - 4.0 / 3) < 1e-6) << value;
    kept += value != 0;
  }
  EXPECT_NEAR(kept / 10000, 0.75, 5 * 0.00433);
}

TEST(Dropout, TheMaskDependsOnSeedStepLayerAndPositionAlone) {
  Tensor y = dropped({4, 16, 5, 5}, 1, 1, drop(0.5));
  expect_same(dropped({4, 16, 5, 5}, 1, 1, drop(0.5)), y);
  EXPECT_NE(dropped({4, 16, 5, 5}, 2, 1, drop(0.5)).values, y.values);
  EXPECT_NE(dropped({4, 16, 5, 5}, 1, 2, drop(0.5)).values, y.values);
  EXPECT_NE(dropped({4, 16, 5, 5}, 1, 1, drop(0.5, 1)).values, y.values);
  Tensor flat = dropped({4 * 16 * 25}, 1, 1, drop(0.5));
  EXPECT_EQ(flat.values, y.values) << "another shape, the same positions";
  for (Layout layout : {Layout::nhwc, Layout::nchw8c, Layout::nchw16c}) {
    Tensor x = in_layout(filled({4, 16, 5, 5}, 1), layout);
    Tensor other =
        run("dropout", "handwritten", {x, scalar(1, DType::i64), scalar(1, DType::i64)}, drop(0.5))[0];
    EXPECT_EQ(other.values, y.values) << to_string(layout);
  }
}

TEST(Dropout, AgreesHasItsGradientAndRefusesNonsense) {
  Tensor seed = scalar(5, DType::i64), step = scalar(9, DType::i64);
  expect_agree("dropout", {random({3, 16, 3, 3}, 1), seed, step}, drop(0.3, 2));
  expect_agree("dropout", {random({33}, 1), seed, step}, drop(0));
  check_gradient("dropout", {random({3, 5}, 1), seed, step}, drop(0.4), {true, false, false});
  const Operation& dropout = Registry::instance().operation("dropout");
  EXPECT_EQ(dropout.identity(call_for("dropout", {random({3}, 1), seed, step}, drop(0))), std::optional(0));
  EXPECT_EQ(dropout.identity(call_for("dropout", {random({3}, 1), seed, step}, drop(0.1))), std::nullopt);
  expect_refused("dropout", {random({3}, 1), seed, step}, drop(1), "[0, 1)");
  expect_refused("dropout", {random({3}, 1), seed, step}, drop(kNaN), "[0, 1)");
}

std::vector<double> cast(const std::vector<double>& values, DType from, const std::string& to,
                         const std::string& kind) {
  Tensor x = tensor({static_cast<int64_t>(values.size())}, values, from);
  return run("cast", kind, {x}, {{"dtype", to}})[0].values;
}

TEST(Cast, RoundsToNearestEvenAsHardwareDoes) {
  for (const std::string& kind : Registry::instance().kinds("cast")) {
    SCOPED_TRACE(kind);
    // each: f32 → f16
    std::vector<std::pair<double, double>> half = {
        {65504, 65504},
        {65519.996, 65504},
        {65520, kInf},
        {0x1p-14, 0x1p-14},
        {0x1p-24, 0x1p-24},
        {0x1p-25, 0},
        {static_cast<double>(std::nextafter(0x1p-25f, 1.0f)), 0x1p-24},
        {1 + 0x1p-11, 1},
        {1 + 3 * 0x1p-11, 1 + 0x1p-9},
        {0.1, 0.0999755859375},
        {-65520, -kInf},
        {kInf, kInf},
        {-0x1p-24, -0x1p-24},
        {0x1p-149, 0},
        {-2.5, -2.5}};
    // each: f32 → bf16
    std::vector<std::pair<double, double>> brain = {{1 + 0x1p-8, 1},
                                                    {1 + 0x1p-8 + 0x1p-23, 1 + 0x1p-7},
                                                    {1 + 3 * 0x1p-8, 1 + 0x1p-6},
                                                    {3.14, 3.140625},
                                                    {3.40282347e38, kInf},
                                                    {-1.5, -1.5},
                                                    {kInf, kInf}};
    for (auto [in, out] : half) EXPECT_EQ(cast({in}, DType::f32, "f16", kind)[0], out) << in;
    for (auto [in, out] : brain) EXPECT_EQ(cast({in}, DType::f32, "bf16", kind)[0], out) << in;
    EXPECT_TRUE(std::signbit(cast({-0.0}, DType::f32, "f16", kind)[0]));
    EXPECT_TRUE(std::signbit(cast({-0.0}, DType::f32, "bf16", kind)[0]));
    EXPECT_TRUE(std::isnan(cast({kNaN}, DType::f32, "f16", kind)[0]));
    EXPECT_TRUE(std::isnan(cast({kNaN}, DType::f32, "bf16", kind)[0]));
  }
}

TEST(Cast, EveryHalfAndEveryBrainFloatSurvivesTheTrip) {
  for (DType dtype : {DType::f16, DType::bf16}) {
    std::vector<double> every;
    for (int bits = 0; bits < 65536; ++bits) {
      bool half = dtype == DType::f16;
      int mantissa_bits = half ? 10 : 7, bias = half ? 15 : 127, all = half ? 31 : 255;
      int mantissa = bits & ((1 << mantissa_bits) - 1), exponent = (bits & 0x7FFF) >> mantissa_bits;
      double value = exponent == 0
                         ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                         : std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
      if (exponent == all) value = mantissa == 0 ? kInf : kNaN;
      every.push_back(bits & 0x8000 ? -value : value);
    }
    std::vector<double> wide = cast(every, dtype, "f32", "handwritten");
    std::vector<double> back = cast(wide, DType::f32, to_string(dtype), "handwritten");
    for (size_t i = 0; i < every.size(); ++i) {
      if (std::isnan(every[i])) {
        ASSERT_TRUE(std::isnan(wide[i]) && std::isnan(back[i])) << i;
      } else {
        ASSERT_EQ(wide[i], every[i]) << i;
        ASSERT_EQ(back[i], every[i]) << i;
      }
    }
  }
}

TEST(Cast, AgreesBetweenAllTypes) {
  for (DType from : {DType::f32, DType::f16, DType::bf16, DType::u8}) {
    for (const char* to : {"f32", "f16", "bf16"}) {
      if (from == DType::u8 && std::string(to) != "f32") continue;
      Tensor x = from == DType::u8 ? integers({257}, 1, 0, 256, from) : random({257}, 1, -70000, 70000);
      x.type.dtype = from;
      expect_agree("cast", {x}, {{"dtype", to}}, {0, 0});
    }
  }
  expect_agree("cast", {random({2, 16, 3, 3}, 1)}, {{"dtype", "bf16"}}, {0, 0});
  expect_refused("cast", {random({3}, 1)}, {{"dtype", "i32"}}, "cannot cast");
  expect_refused("cast", {integers({3}, 1, 0, 9)}, {{"dtype", "f32"}}, "cannot cast");
}

}  // namespace
}  // namespace lathe::testing
