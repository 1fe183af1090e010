// 2-D convolution (cross-correlation) without bias, with stride, padding, dilation and groups, and its two
// gradients:  y[n,o,p,q] = Σ_{c,i,j} x[n, c, p·stride − padding + i·dilation, …] · w[o,c,i,j].
// Dumoulin & Visin 2016, "A guide to convolution arithmetic for deep learning".
#include "layers/conv2d/conv2d.h"

#include <fmt/format.h>

#include <algorithm>

namespace lathe {
namespace {

constexpr int64_t kLargest =
    (int64_t{1} << 31) - 1;  // of attributes and padded extents: kernels count rows in 32 bits

struct Window {
  std::vector<int64_t> stride, padding, dilation;
  int64_t groups;
};

std::vector<int64_t> pair(const Call& call, const std::string& name, int64_t least) {
  std::vector<int64_t> values = call.attributes.integers(name);
  require(values.size() == 2, call, fmt::format("{} takes two numbers, height and width", name));
  for (int64_t value : values) {
    require(
        value >= least && value <= kLargest, call,
        fmt::format("{} {}×{} is out of range, each must be at least {}", name, values[0], values[1], least));
  }
  return values;
}

Window window(const Call& call) {
  Window window{pair(call, "stride", 1), pair(call, "padding", 0), pair(call, "dilation", 1),
                call.attributes.integer("groups")};
  require(window.groups >= 1, call, fmt::format("groups is {}, must be at least 1", window.groups));
  return window;
}

void require_tensor(const Call& call, const char* operand, const Type& type) {
  require(type.shape.rank() == 4 && type.shape.elements() > 0, call,
          fmt::format("{} is {}, must be a 4-D tensor with no empty extent", operand, to_string(type)));
}

void require_channels(const Call& call, int64_t channels, int64_t filters, int64_t groups) {
  require(channels % groups == 0 && filters % groups == 0, call,
          fmt::format("{} input and {} output channels cannot be split into {} groups", channels, filters,
                      groups));
}

// Output height and width of a convolution.
std::array<int64_t, 2> output_size(const Call& call, const Window& window, std::array<int64_t, 2> input,
                                   std::array<int64_t, 2> kernel) {
  std::array<int64_t, 2> output{};
  for (int axis = 0; axis < 2; ++axis) {
    int64_t padded = input[axis] + 2 * window.padding[axis];
    require(kernel[axis] <= kLargest && input[axis] <= kLargest && padded <= kLargest, call,
            fmt::format("a padded extent of {} is past the limit of 2^31", padded));
    int64_t slack = padded - ((kernel[axis] - 1) * window.dilation[axis] + 1);  // less what a window spans
    auto both = [](const auto& values) {
      return values[0] == values[1] ? fmt::format("{}", values[0])
                                    : fmt::format("{}×{}", values[0], values[1]);
    };
    require(slack >= 0, call,
            fmt::format("kernel {}×{} with dilation {} does not fit a {}×{} input padded by {}", kernel[0],
                        kernel[1], both(window.dilation), input[0], input[1], both(window.padding)));
    output[axis] = slack / window.stride[axis] + 1;
  }
  return output;
}

void require_gradient_shape(const Call& call, const Type& dy, const Shape& y) {
  require(dy.shape == y, call, "dy has shape " + to_string(dy.shape) + ", the output has " + to_string(y));
}

// 2·N·O·OH·OW·(C/groups)·kH·kW, the same in each direction.
double flops(const ConvShape& s) {
  auto real = [](int64_t n) { return static_cast<double>(n); };
  return 2 * real(s.N) * real(s.O) * real(s.OH) * real(s.OW) * real(s.group_inputs()) * real(s.kernel_h) *
         real(s.kernel_w);
}

// What the three share: cost, and activations in any layout while weights stay O,I,kH,kW.
template <ConvDirection direction>
struct Convolution : Operation {
  Cost cost(const Call& call) const final {
    return {flops(conv_shape(direction, call)), Operation::cost(call).bytes};
  }
  LayoutRule input_layout(const Call&, int input) const final {
    bool weights = direction != ConvDirection::wgrad && input == 1;
    return weights ? LayoutRule::row_major : LayoutRule::free;
  }
  LayoutRule output_layout(const Call&, int) const final {
    return direction == ConvDirection::wgrad ? LayoutRule::row_major : LayoutRule::free;
  }
};

struct Conv2d final : Convolution<ConvDirection::fprop> {
  std::string_view name() const override { return "conv2d"; }
  std::vector<Type> infer(const Call& call) const override {
    const Type &x = call.inputs.at(0), &w = call.inputs.at(1);
    require_tensor(call, "x", x);
    require_tensor(call, "w", w);
    Window win = window(call);
    require_channels(call, x.shape[1], w.shape[0], win.groups);
    require(w.shape[1] == x.shape[1] / win.groups, call,
            fmt::format("weights {} take {} input channels, the input has {} in {} group{}",
                        to_string(w.shape), w.shape[1], x.shape[1], win.groups, win.groups == 1 ? "" : "s"));
    auto [height, width] = output_size(call, win, {x.shape[2], x.shape[3]}, {w.shape[2], w.shape[3]});
    return {{x.dtype, {x.shape[0], w.shape[0], height, width}}};
  }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>& wanted) const override {
    Value x = node.inputs[0], w = node.inputs[1];
    std::vector<Value> gradients(2);
    if (wanted[0]) {
      Attributes attributes = node.attributes;
      const Shape& shape = graph.type(x).shape;
      attributes.set("input_size", std::vector<int64_t>{shape[2], shape[3]});
      gradients[0] = graph.add1("conv2d_dgrad", {dy[0], w}, attributes, node.name);
    }
    if (wanted[1]) {
      Attributes attributes = node.attributes;
      const Shape& shape = graph.type(w).shape;
      attributes.set("kernel", std::vector<int64_t>{shape[2], shape[3]});
      gradients[1] = graph.add1("conv2d_wgrad", {x, dy[0]}, attributes, node.name);
    }
    return gradients;
  }
};

struct Conv2dDgrad final : Convolution<ConvDirection::dgrad> {
  std::string_view name() const override { return "conv2d_dgrad"; }
  std::vector<Type> infer(const Call& call) const override {
    const Type &dy = call.inputs.at(0), &w = call.inputs.at(1);
    require_tensor(call, "dy", dy);
    require_tensor(call, "w", w);
    Window win = window(call);
    std::vector<int64_t> size = pair(call, "input_size", 1);
    int64_t channels = w.shape[1] * win.groups;
    require_channels(call, channels, w.shape[0], win.groups);
    auto [height, width] = output_size(call, win, {size[0], size[1]}, {w.shape[2], w.shape[3]});
    require_gradient_shape(call, dy, {dy.shape[0], w.shape[0], height, width});
    return {{dy.dtype, {dy.shape[0], channels, size[0], size[1]}}};
  }
};

struct Conv2dWgrad final : Convolution<ConvDirection::wgrad> {
  std::string_view name() const override { return "conv2d_wgrad"; }
  std::vector<Type> infer(const Call& call) const override {
    const Type &x = call.inputs.at(0), &dy = call.inputs.at(1);
    require_tensor(call, "x", x);
    require_tensor(call, "dy", dy);
    Window win = window(call);
    std::vector<int64_t> kernel = pair(call, "kernel", 1);
    require_channels(call, x.shape[1], dy.shape[1], win.groups);
    auto [height, width] = output_size(call, win, {x.shape[2], x.shape[3]}, {kernel[0], kernel[1]});
    require_gradient_shape(call, dy, {x.shape[0], dy.shape[1], height, width});
    return {{x.dtype, {dy.shape[1], x.shape[1] / win.groups, kernel[0], kernel[1]}}};
  }
};

const Register<Conv2d> conv2d;
const Register<Conv2dDgrad> conv2d_dgrad;
const Register<Conv2dWgrad> conv2d_wgrad;

}  // namespace

ConvOperands conv_operands(ConvDirection direction, const Call& call) {
  const Type &first = call.inputs.at(0), &second = call.inputs.at(1), &result = call.outputs.at(0);
  switch (direction) {
    case ConvDirection::fprop:
      return {first, second, result};
    case ConvDirection::dgrad:
      return {result, second, first};
    case ConvDirection::wgrad:
      return {first, result, second};
  }
  throw std::logic_error("conv_operands: unknown direction");
}

ConvShape conv_shape(ConvDirection direction, const Call& call) {
  ConvOperands operands = conv_operands(direction, call);
  const Shape &x = operands.x.shape, &w = operands.w.shape, &y = operands.y.shape;
  const auto& stride = call.attributes.integers("stride");
  const auto& padding = call.attributes.integers("padding");
  const auto& dilation = call.attributes.integers("dilation");
  return {.N = x[0],
          .C = x[1],
          .H = x[2],
          .W = x[3],
          .O = y[1],
          .OH = y[2],
          .OW = y[3],
          .kernel_h = w[2],
          .kernel_w = w[3],
          .stride_h = stride[0],
          .stride_w = stride[1],
          .padding_h = padding[0],
          .padding_w = padding[1],
          .dilation_h = dilation[0],
          .dilation_w = dilation[1],
          .groups = call.attributes.integer("groups")};
}

bool winograd_wins(const ConvShape& s) {
  bool three_by_three = s.kernel_h == 3 && s.kernel_w == 3 && s.stride_h == 1 && s.stride_w == 1 &&
                        s.dilation_h == 1 && s.dilation_w == 1 && s.groups == 1;
  int64_t tiles = ((s.OH + 3) / 4) * ((s.OW + 3) / 4);
  return three_by_three && std::min(s.C, s.O) >= 16 && s.OH * s.OW >= 8 * tiles;
}

}  // namespace lathe
