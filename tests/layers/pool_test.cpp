// Pooling: shapes, padding, ties and NaN as documented; PyTorch's numbers (golden/make_pooling_and_norm.py);
// every implementation over odd windows and all layouts.
#include <cmath>

#include "tests/layers/harness.h"

namespace lathe::testing {
namespace {

using Pair = std::vector<int64_t>;
Attributes pool(Pair window, Pair stride, Pair padding = {0, 0}, int64_t ceil = 0) {
  return {{"window", window}, {"stride", stride}, {"padding", padding}, {"ceil", ceil}};
}
Attributes average(Pair window, Pair stride, Pair padding = {0, 0}, int64_t ceil = 0, int64_t count = 1) {
  Attributes attributes = pool(window, stride, padding, ceil);
  attributes.set("count_include_pad", count);
  return attributes;
}
Attributes with_size(Attributes attributes, int64_t height, int64_t width) {
  attributes.set("input_size", Pair{height, width});
  return attributes;
}
int64_t extent(int64_t size, int64_t window, int64_t stride, int64_t padding, int64_t ceil) {
  Tensor x = filled({1, 1, size, size}, 0);
  Attributes attributes = pool({window, window}, {stride, stride}, {padding, padding}, ceil);
  return call_for("max_pool", {x}, attributes).outputs[0].shape[3];
}

const Tensor kX = tensor({1, 1, 3, 5}, {1, -2, 3, 0, 5, 4, -1, 2, 2, 7, -3, 1, 0, 6, -5});
const Tensor kDy = tensor({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});

TEST(MaxPool, ShapesAreThoseOfPyTorch) {
  EXPECT_EQ(extent(5, 2, 2, 1, 1), 3);
  EXPECT_EQ(extent(7, 2, 2, 0, 0), 3);
  EXPECT_EQ(extent(7, 2, 2, 0, 1), 4);
  EXPECT_EQ(extent(7, 3, 2, 0, 0), 3);
  EXPECT_EQ(extent(7, 3, 2, 0, 1), 3);
  EXPECT_EQ(extent(112, 3, 2, 0, 0), 55);
  EXPECT_EQ(extent(112, 3, 2, 0, 1), 56);
}

TEST(MaxPool, PaddingNeverWins) {
  for (const std::string& kind : Registry::instance().kinds("max_pool")) {
    Tensor five =
        run("max_pool", kind, {tensor({1, 1, 1, 5}, {1, 2, 3, 4, 5})}, pool({1, 2}, {1, 2}, {0, 1}, 1))[0];
    expect_close(five, tensor({1, 1, 1, 3}, {1, 3, 5}));
    Tensor y = run("max_pool", kind, {filled({1, 1, 2, 2}, -1)}, pool({2, 2}, {2, 2}, {1, 1}))[0];
    expect_close(y, filled({1, 1, 2, 2}, -1));
    Tensor rows = tensor({1, 1, 3, 3}, {-1, -2, -3, -3, -4, -5, -2, -3, -6});
    expect_close(run("max_pool", kind, {rows}, pool({3, 3}, {2, 2}, {1, 1}))[0],
                 tensor({1, 1, 2, 2}, {-1, -2, -2, -3}));
  }
}

TEST(MaxPool, NaNIsSeenAndTheFirstMaximumTakesTheGradient) {
  const double nan = std::nan("");
  for (const std::string& kind : Registry::instance().kinds("max_pool")) {
    // Through the kernel for 2×2 windows and through the general one.
    for (Attributes attributes : {pool({2, 2}, {2, 2}), pool({2, 2}, {3, 3})}) {
      auto outputs = run("max_pool", kind, {tensor({1, 1, 2, 2}, {1, nan, nan, 2})}, attributes);
      expect_close(outputs[0], filled({1, 1, 1, 1}, nan), 0, 0, kind);
      EXPECT_EQ(outputs[1].values[0], 1) << kind;
      outputs = run("max_pool", kind, {tensor({1, 1, 2, 2}, {-HUGE_VAL, 3, 3, 3})}, attributes);
      EXPECT_EQ(outputs[0].values[0], 3) << kind;
      EXPECT_EQ(outputs[1].values[0], 1) << kind;
      outputs = run("max_pool", kind, {filled({1, 1, 2, 2}, -HUGE_VAL)}, attributes);
      EXPECT_EQ(outputs[1].values[0], 0) << kind;
    }
    Tensor constant = filled({1, 1, 4, 4}, 5);
    Attributes overlapping = pool({3, 3}, {1, 1});
    Tensor index = run("max_pool", kind, {constant}, overlapping)[1];
    Tensor dx =
        run("max_pool_gradient", kind, {index, filled({1, 1, 2, 2}, 1)}, with_size(overlapping, 4, 4))[0];
    double sum = 0;
    for (double value : dx.values) sum += value;
    EXPECT_EQ(sum, 4) << kind;
    index = run("max_pool", kind, {filled({1, 1, 2, 2}, 5)}, pool({2, 2}, {2, 2}))[1];
    dx = run("max_pool_gradient", kind, {index, filled({1, 1, 1, 1}, 1)},
             with_size(pool({2, 2}, {2, 2}), 2, 2))[0];
    expect_close(dx, tensor({1, 1, 2, 2}, {1, 0, 0, 0}), 0, 0, kind);
  }
}

TEST(MaxPool, EqualsPyTorch) {
  Attributes attributes = pool({3, 3}, {2, 2}, {1, 1});
  for (const std::string& kind : Registry::instance().kinds("max_pool")) {
    auto outputs = run("max_pool", kind, {kX}, attributes);
    expect_close(outputs[0], tensor({1, 1, 2, 3}, {4, 3, 7, 4, 6, 7}), 0, 0, kind);
    Tensor dx = run("max_pool_gradient", kind, {outputs[1], kDy}, with_size(attributes, 3, 5))[0];
    expect_close(dx, tensor({1, 1, 3, 5}, {0, 0, 2, 0, 0, 5, 0, 0, 0, 9, 0, 0, 0, 5, 0}), 0, 0, kind);
  }
}

TEST(MaxPool, RefusesWhatHasNoMeaning) {
  Tensor x = filled({1, 1, 4, 4}, 0);
  expect_refused("max_pool", {x}, pool({2, 2}, {2, 2}, {2, 2}), "padding");
  expect_refused("max_pool", {x}, pool({2, 2}, {2, 2}, {-1, 0}), "padding");
  expect_refused("max_pool", {x}, pool({5, 5}, {1, 1}), "larger than the padded input");
  expect_refused("max_pool", {x}, pool({0, 1}, {1, 1}), "at least 1");
  expect_refused("max_pool", {x}, pool({1, 1}, {0, 1}), "at least 1");
  expect_refused("max_pool", {filled({1, 1, 32, 32}, 0)}, pool({17, 16}, {1, 1}), "256");
  expect_refused("max_pool", {filled({4, 4}, 0)}, pool({2, 2}, {2, 2}), "N,C,H,W");
}

TEST(MaxPool, EveryImplementationAgrees) {
  struct Case {
    Shape shape;
    Attributes attributes;
  };
  for (const Case& c :
       {Case{{2, 16, 6, 8}, pool({2, 2}, {2, 2})}, Case{{1, 32, 7, 5}, pool({2, 2}, {2, 2})},
        Case{{2, 3, 33, 17}, pool({2, 2}, {2, 2}, {0, 0}, 1)},
        Case{{2, 16, 7, 9}, pool({3, 3}, {2, 2}, {1, 1})}, Case{{1, 16, 5, 7}, pool({3, 2}, {1, 3}, {1, 0})},
        Case{{1, 48, 1, 1}, pool({1, 1}, {1, 1})}, Case{{2, 16, 16, 16}, pool({16, 16}, {1, 1}, {8, 8})},
        Case{{1, 16, 9, 9}, pool({2, 2}, {3, 4}, {1, 1}, 1)}}) {
    Tensor x = integers(c.shape, 3, -4, 5, DType::f32);  // many ties
    expect_agree("max_pool", {x}, c.attributes, {0, 0});
    Tensor index = run("max_pool", "handwritten", {x}, c.attributes)[1];
    Tensor dy = random(index.type.shape, 4);
    expect_agree("max_pool_gradient", {index, dy}, with_size(c.attributes, c.shape[2], c.shape[3]),
                 {1e-6, 1e-6});
  }
}

TEST(MaxPool, GradientIsAFiniteDifference) {
  check_gradient("max_pool", {spaced({1, 2, 5, 5}, 1)}, pool({3, 3}, {2, 2}, {1, 1}), {true});
  check_gradient("max_pool", {spaced({1, 2, 4, 6}, 2)}, pool({2, 2}, {2, 2}), {true});
  check_gradient("max_pool", {spaced({1, 2, 5, 5}, 3)}, pool({2, 2}, {2, 2}), {true});
}

TEST(AvgPool, EqualsPyTorch) {
  struct Case {
    Attributes attributes;
    std::vector<double> y, dx;
  };
  const Case cases[] = {{average({3, 3}, {2, 2}, {1, 1}),
                         {0.2222222, 0.4444444, 1.555556, 0.1111111, 1.111111, 1.111111},
                         {0.1111111, 0.3333333, 0.2222222, 0.5555556, 0.3333333, 0.5555556, 1.333333,
                          0.7777778, 1.777778, 1.0, 0.4444444, 1.0, 0.5555556, 1.222222, 0.6666667}},
                        {average({3, 3}, {2, 2}, {1, 1}, 0, 0),
                         {0.5, 0.6666667, 3.5, 0.25, 1.666667, 2.5},
                         {0.25, 0.5833334, 0.3333333, 1.083333, 0.75, 1.25, 2.416667, 1.166667, 3.416667,
                          2.25, 1.0, 1.833333, 0.8333333, 2.333333, 1.5}},
                        {average({2, 2}, {2, 2}, {0, 0}, 1),
                         {0.5, 1.75, 6.0, -1.0, 3.0, -5.0},
                         {0.25, 0.25, 0.5, 0.5, 1.5, 0.25, 0.25, 0.5, 0.5, 1.5, 2.0, 2.0, 2.5, 2.5, 6.0}},
                        {average({2, 2}, {2, 2}, {1, 1}, 1),
                         {0.25, 0.25, 1.25, 0.25, 0.5, 2.5},
                         {0.25, 0.5, 0.5, 0.75, 0.75, 1.0, 1.25, 1.25, 1.5, 1.5, 1.0, 1.25, 1.25, 1.5, 1.5}}};
  for (const Case& c : cases) {
    for (const std::string& kind : Registry::instance().kinds("avg_pool")) {
      if (!Registry::instance()
               .find("avg_pool", kind)
               ->supports(call_for("avg_pool", {kX}, c.attributes))
               .empty())
        continue;
      expect_close(run("avg_pool", kind, {kX}, c.attributes)[0], tensor({1, 1, 2, 3}, c.y), 1e-6, 1e-6, kind);
      expect_close(run("avg_pool_gradient", kind, {kDy}, with_size(c.attributes, 3, 5))[0],
                   tensor({1, 1, 3, 5}, c.dx), 1e-6, 1e-6, kind);
    }
  }
}

TEST(AvgPool, EveryImplementationAgreesAndHasItsGradient) {
  for (int64_t count : {0, 1}) {
    for (const Attributes& a :
         {average({2, 2}, {2, 2}, {0, 0}, 0, count), average({3, 2}, {1, 2}, {1, 1}, 0, count),
          average({3, 3}, {2, 2}, {1, 1}, 1, count), average({2, 2}, {3, 3}, {0, 0}, 1, count)}) {
      Tensor x = random({2, 16, 7, 5}, 1);
      expect_agree("avg_pool", {x}, a);
      Tensor dy = random(call_for("avg_pool", {x}, a).outputs[0].shape, 2);
      expect_agree("avg_pool_gradient", {dy}, with_size(a, 7, 5));
      check_gradient("avg_pool", {random({1, 1, 5, 4}, 1)}, a, {true});
    }
  }
}

TEST(AdaptiveAvgPool, EqualsPyTorch) {
  Attributes size{{"output_size", Pair{2, 3}}};
  for (const char* kind : {"handwritten", "reference"}) {
    if (Registry::instance().find("adaptive_avg_pool", kind) == nullptr) continue;
    expect_close(run("adaptive_avg_pool", kind, {kX}, size)[0],
                 tensor({1, 1, 2, 3}, {0.5, 0.6666667, 3.5, 0.25, 1.666667, 2.5}));
    expect_close(run("adaptive_avg_pool_gradient", kind, {kDy}, {{"input_size", Pair{3, 5}}})[0],
                 tensor({1, 1, 3, 5}, {0.25, 0.5833334, 0.3333333, 1.083333, 0.75, 1.25, 2.416667, 1.166667,
                                       3.416667, 2.25, 1.0, 1.833333, 0.8333333, 2.333333, 1.5}));
  }
}

TEST(AdaptiveAvgPool, EveryImplementationAgreesAndHasItsGradient) {
  for (const Pair& size : {Pair{7, 7}, Pair{1, 1}, Pair{3, 2}, Pair{2, 4}}) {
    for (const Shape& shape :
         {Shape{2, 16, 1, 1}, Shape{2, 16, 4, 8}, Shape{1, 16, 7, 7}, Shape{1, 32, 5, 9}}) {
      Tensor x = random(shape, 1), dy = random({shape[0], shape[1], size[0], size[1]}, 2);
      expect_agree("adaptive_avg_pool", {x}, {{"output_size", size}});
      expect_agree("adaptive_avg_pool_gradient", {dy}, {{"input_size", Pair{shape[2], shape[3]}}});
    }
    check_gradient("adaptive_avg_pool", {random({1, 1, 4, 5}, 1)}, {{"output_size", size}}, {true});
  }
  expect_refused("adaptive_avg_pool", {random({1, 1, 2, 2}, 1)}, {{"output_size", Pair{0, 1}}},
                 "output_size");
}

}  // namespace
}  // namespace lathe::testing
