// Operations that move or sum elements: reshape, concat, slice, reductions, broadcast, change of layout.
#include <cmath>

#include "tests/layers/harness.h"

namespace lathe::testing {
namespace {

using Ints = std::vector<int64_t>;

Shape reshaped(const Shape& shape, const Ints& to) {
  return call_for("reshape", {filled(shape, 0)}, {{"shape", to}}).outputs[0].shape;
}

TEST(Reshape, WorksOutOneExtent) {
  EXPECT_EQ(reshaped({2, 3, 4}, {2, -1}), (Shape{2, 12}));
  EXPECT_EQ(reshaped({2, 3, 4}, {24}), (Shape{24}));
  EXPECT_EQ(reshaped({1}, {}), Shape{});
  EXPECT_EQ(reshaped({0, 3}, {-1, 3}), (Shape{0, 3}));
  Tensor x = filled({2, 3}, 0);
  for (const Ints& bad : {Ints{4, -1}, Ints{5}, Ints{-1, -1}, Ints{-2, 3}, Ints{0, -1}, Ints{}}) {
    expect_refused("reshape", {x}, {{"shape", bad}}, "reshape");
  }
  expect_refused("reshape", {in_layout(filled({1, 2, 1, 1}, 0), Layout::nhwc)}, {{"shape", Ints{2}}},
                 "row-major");
}

TEST(Reshape, FlattensChannelsFirst) {  // VGG's classifier: column = c·H·W + h·W + w
  Graph graph;
  Value x = graph.input("x", {DType::f32, {1, 2, 2, 2}, Layout::nhwc});
  Value rows = graph.add1("layout_change", {x}, {{"layout", "nchw"}});
  Value flat = graph.add1("reshape", {rows}, {{"shape", Ints{1, 8}}});
  Value weights = graph.constant({DType::f32, {1, 8}}, 1);
  Value product = graph.add1("multiply", {flat, weights});
  Tensor values = in_layout(tensor({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), Layout::nhwc);
  std::string kind = "handwritten";
  expect_same(evaluate(graph, {values}, {product}, kind)[0], tensor({1, 8}, {1, 2, 3, 4, 5, 6, 7, 8}));
  check_gradient("reshape", {random({2, 3}, 1)}, {{"shape", Ints{3, 2}}}, {true});
}

TEST(Concat, JoinsAlongAnyAxis) {
  Tensor a = tensor({2, 1}, {1, 2}), b = tensor({2, 2}, {3, 4, 5, 6});
  expect_same(run("concat", "handwritten", {a, b}, {{"axis", int64_t{1}}})[0],
              tensor({2, 3}, {1, 3, 4, 2, 5, 6}));
  for (int64_t axis : {0, 1, 2}) {
    Ints first{2, 3, 5}, second{2, 3, 5};
    first[axis] = 7, second[axis] = 1;
    expect_agree("concat", {random(Shape(first), 1), random(Shape(second), 2), random(Shape(first), 3)},
                 {{"axis", axis}}, {0, 0});
  }
  check_gradient("concat", {random({2, 1}, 1), random({2, 3}, 2)}, {{"axis", int64_t{1}}}, {true, true});
  expect_refused("concat", {a, b}, {{"axis", int64_t{0}}}, "concatenate");
  expect_refused("concat", {a, b}, {{"axis", int64_t{2}}}, "axis 2");
  expect_refused("concat", {}, {{"axis", int64_t{0}}}, "nothing");
}

TEST(Slice, TakesAPartAndPutsItBack) {
  auto part = [](int64_t axis, int64_t begin, int64_t size) {
    return Attributes{{"axis", axis}, {"begin", begin}, {"size", size}};
  };
  Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_same(run("slice", "handwritten", {x}, part(1, 1, 2))[0], tensor({2, 2}, {2, 3, 5, 6}));
  Attributes back{{"axis", int64_t{1}}, {"begin", int64_t{1}}, {"input_size", int64_t{3}}};
  expect_same(run("slice_gradient", "handwritten", {tensor({2, 1}, {7, 8})}, back)[0],
              tensor({2, 3}, {0, 7, 0, 0, 8, 0}));
  for (int64_t axis : {0, 1, 2, 3}) {
    expect_agree("slice", {random({3, 4, 5, 6}, 1)}, part(axis, 1, 2), {0, 0});
    expect_agree("slice", {random({3, 4, 5, 6}, 1)}, part(axis, 3, 0), {0, 0});
    Attributes to{{"axis", axis}, {"begin", int64_t{2}}, {"input_size", int64_t{9}}};
    expect_agree("slice_gradient", {random({3, 4, 5, 6}, 1)}, to, {0, 0});
  }
  check_gradient("slice", {random({3, 4}, 1)}, part(0, 1, 2), {true});
  check_gradient("slice_gradient", {random({2, 4}, 1)},
                 {{"axis", int64_t{0}}, {"begin", int64_t{1}}, {"input_size", int64_t{4}}}, {true});
  for (const Attributes& bad : {part(2, 0, 1), part(-1, 0, 1), part(1, -1, 1), part(1, 2, 2), part(1, 0, -1),
                                part(1, INT64_MAX, 2), part(1, 1, INT64_MAX)}) {
    expect_refused("slice", {x}, bad, "no slice");
  }
}

TEST(Reduce, SumsAndMeansOverAnyAxes) {
  Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_close(run("reduce_sum", "handwritten", {x}, {{"axes", Ints{0}}})[0], tensor({3}, {5, 7, 9}));
  expect_close(run("reduce_mean", "handwritten", {x}, {{"axes", Ints{0, 1}}})[0], scalar(3.5));
  for (const Ints& axes : {Ints{}, Ints{0}, Ints{1}, Ints{2}, Ints{0, 2}, Ints{2, 0, 1}, Ints{1, 2}}) {
    for (const Shape& shape : {Shape{3, 5, 7}, Shape{1, 33, 1}, Shape{40, 2, 65}}) {
      expect_agree("reduce_sum", {random(shape, 1)}, {{"axes", axes}});
      expect_agree("reduce_mean", {random(shape, 1)}, {{"axes", axes}});
    }
    check_gradient("reduce_sum", {random({2, 3, 2}, 1)}, {{"axes", axes}}, {true});
    check_gradient("reduce_mean", {random({2, 3, 2}, 1)}, {{"axes", axes}}, {true});
  }
  expect_close(run("reduce_sum", "handwritten", {filled({0, 2}, 0)}, {{"axes", Ints{0}}})[0], filled({2}, 0));
  expect_refused("reduce_mean", {filled({0, 2}, 0)}, {{"axes", Ints{0}}}, "no mean of nothing");
  expect_refused("reduce_sum", {x}, {{"axes", Ints{2}}}, "axis 2");
  expect_refused("reduce_sum", {x}, {{"axes", Ints{1, 1}}}, "twice");
}

TEST(Reduce, AMillionTermsLoseNothingAndNaNIsSeen) {
  Tensor x = filled({1 << 20}, 16.0 + 1.0 / 1024);
  expect_close(run("reduce_mean", "handwritten", {x}, {{"axes", Ints{0}}})[0], scalar(16.0 + 1.0 / 1024),
               1e-7, 0);
  x.values[12345] = std::nan("");
  expect_close(run("reduce_mean", "handwritten", {x}, {{"axes", Ints{0}}})[0], scalar(std::nan("")));
}

TEST(Broadcast, RepeatsAlongNewAxes) {
  auto to = [](const Ints& shape, const Ints& axes) { return Attributes{{"shape", shape}, {"axes", axes}}; };
  Tensor x = tensor({2}, {1, 2});
  expect_same(run("broadcast", "handwritten", {x}, to({2, 3}, {1}))[0], tensor({2, 3}, {1, 1, 1, 2, 2, 2}));
  expect_same(run("broadcast", "handwritten", {x}, to({3, 2}, {0}))[0], tensor({3, 2}, {1, 2, 1, 2, 1, 2}));
  expect_same(run("broadcast", "handwritten", {scalar(7)}, to({2, 2}, {0, 1}))[0], filled({2, 2}, 7));
  expect_same(run("broadcast", "handwritten", {scalar(7)}, to({}, {}))[0], scalar(7));
  expect_agree("broadcast", {random({3, 5}, 1)}, to({3, 4, 5, 33}, {1, 3}), {0, 0});
  check_gradient("broadcast", {random({3}, 1)}, to({2, 3, 2}, {0, 2}), {true});
  expect_refused("broadcast", {x}, to({3, 3}, {1}), "cannot broadcast");
  expect_refused("broadcast", {x}, to({2, -1}, {1}), "no shape");
}

TEST(LayoutChange, EveryPairKeepsEveryElement) {
  for (const std::string& kind : Registry::instance().kinds("layout_change")) {
    for (Layout from : {Layout::nchw, Layout::nhwc, Layout::nchw8c, Layout::nchw16c}) {
      for (Layout to : {Layout::nchw, Layout::nhwc, Layout::nchw8c, Layout::nchw16c}) {
        for (const Shape& shape :
             {Shape{2, 48, 3, 5}, Shape{1, 16, 1, 7}, Shape{3, 16, 1, 1}, Shape{1, 64, 33, 2}}) {
          Tensor x = in_layout(random(shape, 1), from);
          Tensor y = run("layout_change", kind, {x}, {{"layout", to_string(to)}})[0];
          EXPECT_EQ(y.type.layout, to);
          if (from != to && shape[2] * shape[3] != 1) {
            expect_same(y, x, kind + " " + to_string(from) + " to " + to_string(to));
          }
        }
      }
    }
    Tensor odd = random({2, 3, 5, 7}, 1);
    expect_same(run("layout_change", kind, {odd}, {{"layout", "nhwc"}})[0], odd, kind);
  }
  check_gradient("layout_change", {random({1, 8, 1, 2}, 1)}, {{"layout", "nchw8c"}}, {true});
  expect_refused("layout_change", {random({1, 12, 2, 2}, 1)}, {{"layout", "nchw8c"}}, "multiple of 8");
  expect_refused("layout_change", {random({1, 12, 2, 2}, 1)}, {{"layout", "chwn"}}, "no layout");
  expect_refused("layout_change", {random({12, 2}, 1)}, {{"layout", "nhwc"}}, "N,C,H,W");
}

TEST(LayoutChange, IsAViewWhereEveryLayoutIsTheSame) {
  const Operation& change = Registry::instance().operation("layout_change");
  Attributes blocked{{"layout", "nchw16c"}};
  EXPECT_EQ(change.alias(call_for("layout_change", {filled({2, 32, 1, 1}, 0)}, blocked), 0).kind,
            Alias::view);
  EXPECT_EQ(change.alias(call_for("layout_change", {filled({2, 32, 1, 2}, 0)}, blocked), 0).kind,
            Alias::none);
  EXPECT_EQ(change.identity(call_for("layout_change", {filled({2, 32, 2, 2}, 0)}, {{"layout", "nchw"}})),
            std::optional(0));
}

}  // namespace
}  // namespace lathe::testing
