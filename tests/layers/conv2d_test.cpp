// Convolution: every implementation equals the reference over odd shapes and layouts, the gradients equal
// finite differences, and PyTorch's numbers come out exactly.
#include <fmt/format.h>

#include "engine/runtime/error.h"
#include "tests/layers/harness.h"

namespace lathe::testing {
namespace {

struct Case {
  int64_t N = 1, C = 3, H = 8, W = 8, O = 4;
  std::vector<int64_t> kernel = {3, 3}, stride = {1, 1}, padding = {1, 1}, dilation = {1, 1};
  int64_t groups = 1;

  Attributes attributes() const {
    return {{"stride", stride}, {"padding", padding}, {"dilation", dilation}, {"groups", groups}};
  }
  Attributes dgrad_attributes() const {
    Attributes result = attributes();
    result.set("input_size", std::vector<int64_t>{H, W});
    return result;
  }
  Attributes wgrad_attributes() const {
    Attributes result = attributes();
    result.set("kernel", kernel);
    return result;
  }
  Tensor x() const { return random({N, C, H, W}, 1); }
  Tensor w() const { return random({O, C / groups, kernel[0], kernel[1]}, 2); }
  Tensor dy() const { return random(call_for("conv2d", {x(), w()}, attributes()).outputs[0].shape, 3); }
};

const Case kCases[] = {
    {2, 3, 8, 8, 16},  // a first layer
    {2, 16, 7, 5, 32},
    {1, 1, 1, 1, 1},  // 1×1 picture
    {3, 1, 5, 5, 1, {1, 1}, {1, 1}, {0, 0}},
    {2, 17, 9, 7, 33, {3, 3}, {1, 1}, {0, 0}},         // no padding
    {1, 8, 33, 31, 16, {3, 3}, {2, 2}},                // stride 2
    {2, 3, 17, 17, 7, {5, 5}, {3, 3}, {2, 2}},         // stride 3, rows left over
    {2, 16, 9, 9, 8, {3, 3}, {1, 1}, {2, 2}, {2, 2}},  // dilation 2
    {1, 7, 6, 10, 3, {1, 3}, {1, 1}, {0, 1}},          // asymmetric
    {1, 3, 10, 6, 17, {4, 2}, {3, 1}, {3, 0}, {1, 3}},
    {2, 16, 6, 6, 16, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 16},  // depthwise
    {2, 17, 5, 5, 34, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 17},  // with a multiplier
    {1, 32, 5, 5, 32, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 2},   // groups of 16
    {1, 6, 5, 5, 9, {2, 3}, {1, 2}, {1, 0}, {2, 1}, 3},
    {2, 4, 1, 1, 5, {3, 3}, {1, 1}, {4, 4}},  // padding past the kernel
    {1, 16, 4, 4, 16, {1, 1}, {2, 2}, {0, 0}},
    {1, 2, 3, 70, 65, {3, 3}, {1, 1}, {1, 1}},  // more than one tile
};

std::vector<Layout> layouts(int64_t channels) {
  std::vector<Layout> result = {Layout::nchw, Layout::nhwc};
  if (channels % 8 == 0) result.push_back(Layout::nchw8c);
  if (channels % 16 == 0) result.push_back(Layout::nchw16c);
  return result;
}

// All implementations of one direction, with every pair of layouts of x and y that its implementation
// supports.
void expect_all_agree(const std::string& operation, std::vector<Tensor> inputs,
                      const Attributes& attributes) {
  Registry& registry = Registry::instance();
  const Operation& op = registry.operation(operation);
  Call call = call_for(operation, inputs, attributes);
  if (registry.find(operation, "reference") == nullptr) GTEST_SKIP() << "this build has no reference";
  Tensor expected = run(operation, "reference", inputs, attributes)[0];
  std::vector<Type*> free;  // the two activations
  for (size_t i = 0; i < 2; ++i) {
    if (op.input_layout(call, static_cast<int>(i)) == LayoutRule::free) free.push_back(&call.inputs[i]);
  }
  if (op.output_layout(call, 0) == LayoutRule::free) free.push_back(&call.outputs[0]);
  ASSERT_EQ(free.size(), 2u);
  for (Layout first : layouts(free[0]->shape[1])) {
    for (Layout second : layouts(free[1]->shape[1])) {
      free[0]->layout = first;
      free[1]->layout = second;
      for (size_t i = 0; i < 2; ++i) inputs[i].type.layout = call.inputs[i].layout;
      for (const std::string& kind : registry.kinds(operation)) {
        bool row_major = first == Layout::nchw && second == Layout::nchw;
        std::string reason = registry.find(operation, kind)->supports(call);
        EXPECT_TRUE(reason.empty() || (kind == "handwritten" && !row_major)) << kind << ": " << reason;
        if (!reason.empty()) continue;
        expect_close(run(operation, kind, call, inputs)[0], expected, 2e-5, 2e-5,
                     fmt::format("{} {} {} {} {}", kind, operation, to_string(call.inputs[0]),
                                 to_string(call.outputs[0]), to_string(attributes)));
      }
    }
  }
}

TEST(Conv2d, EveryImplementationAgreesOverShapesAndLayouts) {
  for (const Case& c : kCases) expect_all_agree("conv2d", {c.x(), c.w()}, c.attributes());
}
TEST(Conv2d, EveryDgradAgreesOverShapesAndLayouts) {
  for (const Case& c : kCases) expect_all_agree("conv2d_dgrad", {c.dy(), c.w()}, c.dgrad_attributes());
}
TEST(Conv2d, EveryWgradAgreesOverShapesAndLayouts) {
  for (const Case& c : kCases) expect_all_agree("conv2d_wgrad", {c.x(), c.dy()}, c.wgrad_attributes());
}

TEST(Conv2d, GradientsAreFiniteDifferences) {
  check_gradient("conv2d", {random({2, 2, 4, 3}, 1), random({3, 2, 3, 3}, 2)}, Case{}.attributes(),
                 {true, true});
  Case odd{2, 4, 5, 4, 6, {2, 3}, {2, 1}, {1, 2}, {1, 2}, 2};
  check_gradient("conv2d", {odd.x(), odd.w()}, odd.attributes(), {true, true});
}

// As golden/make_convolution.py makes them.
Tensor ramp(Shape shape, int64_t modulus) {
  Tensor result = filled(std::move(shape), 0);
  for (size_t i = 0; i < result.values.size(); ++i) {
    result.values[i] = static_cast<double>((static_cast<int64_t>(i) * 5 + 3) % modulus - modulus / 2);
  }
  return result;
}

void expect_golden(const Case& c, const Tensor& y, const Tensor& dx, const Tensor& dw) {
  Tensor x = ramp(dx.type.shape, 11), w = ramp(dw.type.shape, 7), dy = ramp(y.type.shape, 9);
  for (const std::string& kind : Registry::instance().kinds("conv2d")) {
    expect_close(run("conv2d", kind, {x, w}, c.attributes())[0], y, 0, 0, kind);
    expect_close(run("conv2d_dgrad", kind, {dy, w}, c.dgrad_attributes())[0], dx, 0, 0, kind + " dgrad");
    expect_close(run("conv2d_wgrad", kind, {x, dy}, c.wgrad_attributes())[0], dw, 0, 0, kind + " wgrad");
  }
}

TEST(Conv2d, EqualsPyTorch) {
  expect_golden({1, 2, 3, 4, 2, {2, 3}, {1, 1}, {1, 0}},
                tensor({1, 2, 4, 2}, {8, -3, -5, 0, -18, -2, 16, -12, 22, -29, 38, -28, 5, 27, -32, 19}),
                tensor({1, 2, 3, 4}, {-19, 24,  7,  -25, 4, -5,  19, 3,  18, -34, 13,  4,
                                      -7,  -15, 24, 1,   6, -15, -5, 12, 10, 3,   -34, 14}),
                tensor({2, 2, 2, 3}, {-7, 18, -1, 18,  -8, 21,  18, -1, -9, -8, 21,  -49,
                                      -8, 14, -8, -46, 24, -49, 14, -8, 25, 24, -49, 21}));
  expect_golden({1, 4, 4, 3, 2, {3, 2}, {2, 1}, {1, 2}, {1, 2}, 2},
                tensor({1, 2, 2, 5}, {5,  5,  -13, 20,  -19, -10, 13,  -15, -14, 12,
                                      -8, -9, 40,  -23, -8,  14,  -14, -32, 38,  -22}),
                tensor({1, 4, 4, 3}, {-1, -8, 3,  9,  -12, 3, -9, 11, -5, 11,  -9, 7,   -3, 20,  -2, -3,
                                      -2, -1, -5, 0,  -4,  1, 1,  1,  -8, 0,   8,  -13, 2,  -19, -4, 4,
                                      -6, 11, -5, 15, -8,  2, -6, 11, 5,  -19, 6,  -2,  8,  0,   -4, 1}),
                tensor({2, 2, 3, 2}, {-17, -16, -10, 19, 33,  -3,  16, 24, 30,  -3,  -26, -14,
                                      8,   12,  58,  28, -30, -15, 5,  5,  -30, -12, 25,  -22}));
}

TEST(Conv2d, NaNReachesTheWindowsThatHoldItAndNoOther) {
  Case c{1, 2, 6, 6, 3};
  Tensor x = c.x();
  x.values[8] = std::nan("");  // row 1, column 2 of channel 0
  for (const std::string& kind : Registry::instance().kinds("conv2d")) {
    Tensor y = run("conv2d", kind, {x, c.w()}, c.attributes())[0];
    for (int64_t i = 0; i < 108; ++i) {
      int64_t row = i / 6 % 6, column = i % 6;
      EXPECT_EQ(std::isnan(y.values[i]), row <= 2 && column >= 1 && column <= 3) << kind << " element " << i;
    }
  }
}

TEST(Conv2d, FirstLayerWithBlockedGradientsAvoidsTheSlowCode) {
  const Implementation* library = Registry::instance().find("conv2d_dgrad", "library");
  if (library == nullptr) GTEST_SKIP() << "no library implementation";
  Case c{2, 3, 8, 8, 64};
  Call call = call_for("conv2d_dgrad", {in_layout(c.dy(), Layout::nchw16c), c.w()}, c.dgrad_attributes());
  EXPECT_EQ(library->prepare(call, {}).detail.find("ref"), std::string::npos)
      << library->prepare(call, {}).detail;
}

TEST(Conv2d, WinogradEqualsTheReference) {
  if (Registry::instance().find("conv2d", "library") == nullptr) GTEST_SKIP() << "no library implementation";
  Options options;
  options.winograd = true;
  auto transforms = [&](const char* operation, const Call& call) {
    return Registry::instance().find(operation, "library")->prepare(call, options).detail.find("wino") !=
           std::string::npos;
  };
  for (const Case& c : {Case{8, 32, 16, 16, 48}, Case{40, 16, 7, 5, 32}, Case{33, 16, 4, 4, 64},
                        Case{3, 48, 9, 13, 16}, Case{16, 32, 12, 12, 32, {3, 3}, {1, 1}, {0, 0}}}) {
    Tensor x = in_layout(c.x(), Layout::nchw16c), dy = in_layout(c.dy(), Layout::nchw16c);
    struct Direction {
      const char* operation;
      std::vector<Tensor> inputs;
      Attributes attributes;
    };
    for (const auto& [operation, inputs, attributes] :
         {Direction{"conv2d", {x, c.w()}, c.attributes()},
          Direction{"conv2d_dgrad", {dy, c.w()}, c.dgrad_attributes()},
          Direction{"conv2d_wgrad", {x, dy}, c.wgrad_attributes()}}) {
      Call call = call_for(operation, inputs, attributes);
      if (call.outputs[0].shape[1] % 16 == 0 && std::string(operation) != "conv2d_wgrad")
        call.outputs[0].layout = Layout::nchw16c;
      // oneDNN has these transforms for AVX-512 only.
      if (__builtin_cpu_supports("avx512f")) {
        EXPECT_TRUE(transforms(operation, call)) << operation;
      }
      Tensor expected = run(operation, "reference", inputs, attributes)[0];
      Tensor actual = run(operation, "library", call, inputs, 0, options)[0];
      double largest = 0;
      for (double value : expected.values) largest = std::max(largest, std::abs(value));
      expect_close(actual, expected, 0, 1e-5 * largest, operation);
    }
  }
}

TEST(Conv2d, WinogradIsOffUnlessAskedForAndNeverForOtherShapes) {
  const Implementation* library = Registry::instance().find("conv2d", "library");
  if (library == nullptr) GTEST_SKIP() << "no library implementation";
  Options on;
  on.winograd = true;
  auto detail = [&](const Case& c, const Options& options) {
    return library->prepare(call_for("conv2d", {c.x(), c.w()}, c.attributes()), options).detail;
  };
  EXPECT_EQ(detail({8, 32, 16, 16, 48}, {}).find("wino"), std::string::npos);
  for (const Case& c :
       {Case{8, 3, 32, 32, 64}, Case{32, 64, 2, 2, 64}, Case{8, 32, 16, 16, 32, {5, 5}},
        Case{8, 32, 16, 16, 32, {3, 3}, {2, 2}}, Case{8, 32, 16, 16, 32, {3, 3}, {1, 1}, {2, 2}, {2, 2}},
        Case{8, 32, 16, 16, 32, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 2}})
    EXPECT_EQ(detail(c, on), detail(c, {}));
}

TEST(Conv2d, HandwrittenWinogradIsAskedForAndEqualsTheReference) {
  const Implementation& handwritten = *Registry::instance().find("conv2d", "handwritten");
  Options on;
  on.winograd = true;
  auto transforms = [&](const Case& c, const Options& options) {
    return handwritten.prepare(call_for("conv2d", {c.x(), c.w()}, c.attributes()), options).detail ==
           "winograd";
  };
  for (const Case& c : {Case{2, 32, 16, 16, 48}, Case{3, 16, 7, 5, 32}, Case{1, 48, 9, 13, 16},
                        Case{2, 32, 12, 12, 32, {3, 3}, {1, 1}, {0, 0}}}) {
    EXPECT_TRUE(transforms(c, on));
    EXPECT_FALSE(transforms(c, {}));
    Call call = call_for("conv2d", {c.x(), c.w()}, c.attributes());
    Tensor expected = run("conv2d", "reference", {c.x(), c.w()}, c.attributes())[0];
    Tensor actual = run("conv2d", "handwritten", call, {c.x(), c.w()}, 0, on)[0];
    double largest = 0;
    for (double value : expected.values) largest = std::max(largest, std::abs(value));
    expect_close(actual, expected, 0, 1e-5 * largest, "conv2d");
  }
  for (const Case& c : {Case{2, 3, 32, 32, 64}, Case{2, 64, 2, 2, 64}, Case{2, 32, 16, 16, 32, {5, 5}},
                        Case{2, 32, 16, 16, 32, {3, 3}, {2, 2}}})
    EXPECT_FALSE(transforms(c, on));
}

// An evaluation gives the same bits whatever the batch size.
TEST(Conv2d, OnePictureIsComputedAsInABatch) {
  if (Registry::instance().find("conv2d", "library") == nullptr) GTEST_SKIP() << "no library implementation";
  for (bool winograd : {false, true}) {
    Options options;
    options.winograd = winograd;
    for (const Case& shape : {Case{1, 64, 32, 32, 64}, Case{1, 128, 8, 8, 64}, Case{1, 64, 4, 4, 128}}) {
      Case batch = shape;
      batch.N = 37;
      Tensor many = batch.x(), w = shape.w();
      auto per_sample = static_cast<std::ptrdiff_t>(many.values.size() / 37);
      Tensor one =
          tensor({1, shape.C, shape.H, shape.W}, {many.values.begin(), many.values.begin() + per_sample});
      auto forward = [&](const Tensor& x) {
        Tensor blocked = in_layout(x, Layout::nchw16c);
        Call call = call_for("conv2d", {blocked, w}, shape.attributes());
        call.outputs[0].layout = Layout::nchw16c;
        return run("conv2d", "library", call, {blocked, w}, 0, options)[0];
      };
      Tensor alone = forward(one), together = forward(many);
      together.values.resize(alone.values.size());
      EXPECT_EQ(alone.values, together.values) << "winograd " << winograd << ", " << to_string(many.type);
    }
  }
}

TEST(Conv2d, MisfitsAreRefusedInWords) {
  Case plain{1, 3, 8, 8, 4};
  Tensor w = plain.w();
  expect_refused("conv2d", {random({1, 3, 1, 1}, 1), w}, Case{.padding = {0, 0}}.attributes(),
                 "conv2d: kernel 3×3 with dilation 1 does not fit a 1×1 input padded by 0");
  expect_refused("conv2d", {random({1, 3, 9, 4}, 1), w},
                 Case{.padding = {0, 1}, .dilation = {1, 3}}.attributes(),
                 "kernel 3×3 with dilation 1×3 does not fit a 9×4 input padded by 0×1");
  expect_refused("conv2d", {random({1, 4, 8, 8}, 1), w}, plain.attributes(),
                 "take 3 input channels, the input has 4");
  expect_refused("conv2d", {random({1, 3, 8, 8}, 1), w}, Case{.groups = 2}.attributes(),
                 "cannot be split into 2 groups");
  expect_refused("conv2d", {plain.x(), w}, Case{.groups = 0}.attributes(), "groups is 0");
  expect_refused("conv2d", {plain.x(), w}, Case{.stride = {1, 0}}.attributes(), "stride 1×0 is out of range");
  expect_refused("conv2d", {plain.x(), w}, Case{.padding = {-1, 0}}.attributes(),
                 "padding -1×0 is out of range");
  expect_refused("conv2d", {plain.x(), w}, Case{.padding = {1}}.attributes(), "padding takes two numbers");
  expect_refused("conv2d", {plain.x(), w}, Case{.padding = {1 << 30, 0}}.attributes(), "past the limit");
  expect_refused("conv2d", {random({1, 3, 8}, 1), w}, plain.attributes(), "must be a 4-D tensor");
  expect_refused("conv2d", {random({0, 3, 8, 8}, 1), w}, plain.attributes(), "no empty extent");
  expect_refused("conv2d_dgrad", {random({1, 4, 7, 8}, 1), w}, plain.dgrad_attributes(),
                 "dy has shape [1, 4, 7, 8]");
  expect_refused("conv2d_wgrad", {plain.x(), random({2, 4, 8, 8}, 1)}, plain.wgrad_attributes(),
                 "dy has shape");
}

TEST(Conv2d, SizesPast2To31AreCountedRight) {
  Call call{
      {{DType::f32, {669, 3, 224, 224}}, {DType::f32, {64, 3, 3, 3}}}, {}, Case{}.attributes(), "features.0"};
  const Operation& conv2d = Registry::instance().operation("conv2d");
  call.outputs = conv2d.infer(call);
  EXPECT_EQ(call.outputs[0].shape.elements(), 2148335616);
  EXPECT_EQ(conv2d.cost(call).flops, 669 * 173408256.0);
  EXPECT_EQ(conv2d.cost(call).bytes, 4 * (669 * (3 + 64) * 224 * 224.0 + 64 * 27));
}

}  // namespace
}  // namespace lathe::testing
