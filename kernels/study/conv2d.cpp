// Trials of the convolution ladder.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "kernels/conv2d/ladder.h"
#include "kernels/study/ladders.h"

namespace lathe::study {
namespace {

using kernels::Conv2d;
using kernels::Conv2dDgrad;
using kernels::Conv2dWgrad;
using kernels::ConvLayout;
using kernels::ConvShape;
using Values = std::vector<double>;

struct Window {  // along one axis
  int64_t kernel = 3, stride = 1, padding = 1, dilation = 1;
  int64_t out(int64_t in) const { return (in + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1; }
  bool fits(int64_t in) const { return in + 2 * padding > dilation * (kernel - 1); }
};

ConvShape conv(int64_t N, int64_t C, int64_t H, int64_t W, int64_t O, Window h = {}, Window w = {},
               int64_t groups = 1) {
  return {N,        C,        H,        W,         O,         h.out(H),   w.out(W),   h.kernel,
          w.kernel, h.stride, w.stride, h.padding, w.padding, h.dilation, w.dilation, groups};
}

struct Case {
  ConvShape shape;
  ConvLayout layout;
  int shift = 0;       // elements off alignment
  bool fused = false;  // bias and ReLU
  bool nan = false;    // a NaN in x
};

int64_t x_size(const ConvShape& s) { return s.N * s.C * s.H * s.W; }
int64_t w_size(const ConvShape& s) { return s.O * s.filter_size(); }
int64_t y_size(const ConvShape& s) { return s.N * s.O * s.OH * s.OW; }

// Steps from an element of an array [n,c,h,w] to the next along each axis.
struct Steps {
  int64_t n, c, h, w;
};
Steps steps(ConvLayout layout, int64_t channels, int64_t height, int64_t width) {
  return layout == ConvLayout::nchw ? Steps{channels * height * width, height * width, width, 1}
                                    : Steps{height * width * channels, 1, width * channels, channels};
}

// each(a, b, c) for every product of the definition: y[c] += x[a] · w[b].
template <typename Each>
void for_each_product(const ConvShape& s, ConvLayout layout, Each each) {
  const Steps x = steps(layout, s.C, s.H, s.W), y = steps(layout, s.O, s.OH, s.OW),
              w = steps(layout, s.group_inputs(), s.kernel_h, s.kernel_w);
  for (int64_t n = 0; n < s.N; ++n)
    for (int64_t o = 0; o < s.O; ++o)
      for (int64_t p = 0; p < s.OH; ++p)
        for (int64_t q = 0; q < s.OW; ++q)
          for (int64_t i = 0; i < s.kernel_h; ++i)
            for (int64_t j = 0; j < s.kernel_w; ++j) {
              const int64_t h = p * s.stride_h - s.padding_h + i * s.dilation_h;
              const int64_t v = q * s.stride_w - s.padding_w + j * s.dilation_w;
              if (h < 0 || h >= s.H || v < 0 || v >= s.W) continue;
              const int64_t first = o / s.group_outputs() * s.group_inputs();
              const int64_t in_x = n * x.n + first * x.c + h * x.h + v * x.w;
              const int64_t in_w = o * w.n + i * w.h + j * w.w;
              const auto in_y = static_cast<size_t>(n * y.n + o * y.c + p * y.h + q * y.w);
              for (int64_t c = 0; c < s.group_inputs(); ++c)
                each(static_cast<size_t>(in_x + c * x.c), static_cast<size_t>(in_w + c * w.c), in_y);
            }
}

// Exact in `element`.
Values inputs(int64_t n, uint64_t seed, Element element) {
  Values values = random_values(n, seed);
  if (element == Element::bf16)  // 8 significant bits
    for (double& value : values) value = std::round(value * 128) / 128;
  return values;
}

Trial describe(const Case& c, Element element, const char* what) {
  const ConvShape& s = c.shape;
  Trial t;
  t.shape = fmt::format(
      "{}N={} C={} H={} W={} O={}, kernel {}x{}, stride {}x{}, padding {}x{}, dilation {}x{}{}, {}{}{}{}",
      what, s.N, s.C, s.H, s.W, s.O, s.kernel_h, s.kernel_w, s.stride_h, s.stride_w, s.padding_h, s.padding_w,
      s.dilation_h, s.dilation_w, s.groups > 1 ? fmt::format(", groups {}", s.groups) : "",
      c.layout == ConvLayout::nchw ? "NCHW" : "NHWC", c.shift ? ", off alignment" : "",
      c.fused ? ", bias and ReLU" : "", c.nan ? ", one NaN" : "");
  t.element = element;
  t.operations = 2.0 * static_cast<double>(y_size(s)) * static_cast<double>(s.filter_size());
  t.least_bytes = static_cast<double>((x_size(s) + w_size(s) + y_size(s)) * bytes_of(element));
  return t;
}

// Sums of n products of numbers in [-1, 1), in fp32, then rounded to `element`.
double tolerance(Element element, int64_t n) {
  const double round = element == Element::fp32 ? 0 : element == Element::fp16 ? 0x1p-11 : 0x1p-8;
  return round + 1e-6 * std::sqrt(static_cast<double>(n));
}

bool takes_all(const ConvShape&) { return true; }
bool winograd_takes(const ConvShape& s) {
  return s.kernel_h == 3 && s.kernel_w == 3 && s.stride_h == 1 && s.stride_w == 1 && s.dilation_h == 1 &&
         s.dilation_w == 1;
}
bool pooling_takes(const ConvShape& s) { return s.OH >= 2 && s.OW >= 2; }
int64_t no_workspace(const ConvShape&) { return 0; }

template <typename T>
using Forward = void (*)(const Conv2d<T>&, cudaStream_t);

// What a forward rung takes.
struct Fprop {
  std::vector<ConvLayout> layouts;
  bool (*takes)(const ConvShape&) = takes_all;
  int64_t (*workspace)(const ConvShape&) = no_workspace;  // bytes
  double digits_lost = 1;                                 // factor of the tolerance
  bool fuses = false;                                     // bias and ReLU
  bool pools = false;                                     // 2×2, stride 2
};

// The largest of each 2×2 pixels of y, NHWC. A NaN wins.
Values pooled(const Values& y, const ConvShape& s) {
  Values result;
  for (int64_t n = 0; n < s.N; ++n)
    for (int64_t p = 0; p + 1 < s.OH; p += 2)
      for (int64_t q = 0; q + 1 < s.OW; q += 2)
        for (int64_t o = 0; o < s.O; ++o) {
          double best = -INFINITY;
          for (int64_t i = 0; i < 4; ++i) {
            const int64_t pixel = (n * s.OH + p + i / 2) * s.OW + q + i % 2;
            const double value = y[static_cast<size_t>(pixel * s.O + o)];
            if (value > best || std::isnan(value)) best = value;
          }
          result.push_back(best);
        }
  return result;
}

Values fprop(const Values& x, const Values& w, const Values& bias, const Case& c) {
  const ConvShape& s = c.shape;
  Values y(static_cast<size_t>(y_size(s)), 0);
  for_each_product(s, c.layout, [&](size_t a, size_t b, size_t at) { y[at] += x[a] * w[b]; });
  const int64_t step = steps(c.layout, s.O, s.OH, s.OW).c;
  for (size_t i = 0; c.fused && i < y.size(); ++i) {
    y[i] += bias[static_cast<size_t>(static_cast<int64_t>(i) / step % s.O)];
    if (y[i] < 0) y[i] = 0;  // NaN stays
  }
  return y;
}

template <typename T>
Trial fprop_trial(Forward<T> launcher, const Fprop& rung, Element element, const Case& c, bool expected) {
  const ConvShape& s = c.shape;
  Values x = inputs(x_size(s), 1, element);
  if (c.nan) x[x.size() / 2] = NAN;
  const Values w = inputs(w_size(s), 2, element), bias = inputs(rung.fuses ? s.O : 0, 3, element);
  const int64_t outputs = rung.pools ? s.N * s.O * (s.OH / 2) * (s.OW / 2) : y_size(s);
  Values y;
  if (expected) y = fprop(x, w, bias, c);
  if (expected && rung.pools) y = pooled(y, s);
  Trial t = describe(c, element, "");
  t.least_bytes += static_cast<double>((outputs - y_size(s) + (c.fused ? s.O : 0)) * bytes_of(element));
  t.arrays = {
      {"x", element, x, {}, 0, c.shift},
      {"w", element, w, {}, 0, c.shift},
      {"y", element, Values(static_cast<size_t>(outputs), -77), y,
       rung.digits_lost * tolerance(element, s.filter_size()), c.shift},
      {"bias", element, bias, {}, 0, c.shift},
      {"workspace", Element::fp32, Values(static_cast<size_t>(rung.workspace(s) / 4), NAN), {}, 0, 0, true}};
  t.launch = [=](std::span<void* const> at, cudaStream_t stream) {
    launcher({s, c.layout, static_cast<const T*>(at[0]), static_cast<const T*>(at[1]), static_cast<T*>(at[2]),
              c.fused ? static_cast<const T*>(at[3]) : nullptr, c.fused, static_cast<float*>(at[4])},
             stream);
  };
  return t;
}

// dy and what left the ReLU of the gradients' trials, and dy behind it. Every other trial has a ReLU.
struct Outgoing {
  Values dy, y, masked;
};
Outgoing outgoing(const ConvShape& s, Element element, bool relu) {
  Outgoing out{inputs(y_size(s), 3, element), inputs(y_size(s), 4, element), {}};
  out.masked = out.dy;
  for (size_t i = 0; i < out.dy.size(); ++i)
    if (relu && !(out.y[i] > 0)) out.masked[i] = 0;
  return out;
}

template <typename T>
Trial dgrad_trial(Element element, const Case& c, bool relu, bool expected) {
  const ConvShape& s = c.shape;
  const Outgoing out = outgoing(s, element, relu);
  const Values w = inputs(w_size(s), 2, element);
  Values dx;
  if (expected) {
    dx.assign(static_cast<size_t>(x_size(s)), 0);
    for_each_product(s, c.layout, [&](size_t a, size_t b, size_t at) { dx[a] += out.masked[at] * w[b]; });
  }
  Trial t = describe(c, element, relu ? "dReLU, " : "");
  if (relu) t.least_bytes += static_cast<double>(y_size(s) * bytes_of(element));
  t.arrays = {{"dy", element, out.dy, {}, 0, c.shift},
              {"y", element, out.y, {}, 0, c.shift},
              {"w", element, w, {}, 0, c.shift},
              {"dx", element, Values(static_cast<size_t>(x_size(s)), -77), dx,
               tolerance(element, s.group_outputs() * s.taps()), c.shift}};
  t.launch = [=](std::span<void* const> at, cudaStream_t stream) {
    kernels::conv2d_dgrad<T>({s, c.layout, static_cast<const T*>(at[0]), static_cast<const T*>(at[2]),
                              static_cast<T*>(at[3]), relu ? static_cast<const T*>(at[1]) : nullptr},
                             stream);
  };
  return t;
}

// With a ReLU the gradient of the bias too.
template <typename T>
Trial wgrad_trial(Element element, const Case& c, bool relu, bool expected) {
  const ConvShape& s = c.shape;
  const Outgoing out = outgoing(s, element, relu);
  const Values x = inputs(x_size(s), 1, element);
  const int64_t workspace = kernels::conv2d_wgrad_workspace(s) / 4;
  Values dw, db, db_before(static_cast<size_t>(s.O), -77);
  if (expected) {
    dw.assign(static_cast<size_t>(w_size(s)), 0);
    for_each_product(s, c.layout, [&](size_t a, size_t b, size_t at) { dw[b] += x[a] * out.masked[at]; });
    const int64_t step = steps(c.layout, s.O, s.OH, s.OW).c;
    if (relu) db.assign(static_cast<size_t>(s.O), 0);
    for (size_t i = 0; relu && i < out.masked.size(); ++i)
      db[static_cast<size_t>(static_cast<int64_t>(i) / step % s.O)] += out.masked[i];
  }
  const double error = tolerance(Element::fp32, s.N * s.OH * s.OW);
  Trial t = describe(c, element, relu ? "dReLU and bias, " : "");
  t.least_bytes += static_cast<double>(w_size(s) * (4 - bytes_of(element)));  // dw is fp32
  if (relu) t.least_bytes += static_cast<double>(y_size(s) * bytes_of(element) + s.O * 4);
  t.arrays = {{"x", element, x, {}, 0, c.shift},
              {"dy", element, out.dy, {}, 0, c.shift},
              {"y", element, out.y, {}, 0, c.shift},
              {"dw", Element::fp32, Values(static_cast<size_t>(w_size(s)), -77), dw, error, c.shift},
              {"db", Element::fp32, db_before, db, error, c.shift},
              {"workspace", Element::fp32, Values(static_cast<size_t>(workspace), NAN), {}, 0, 0, true}};
  t.launch = [=](std::span<void* const> at, cudaStream_t stream) {
    kernels::conv2d_wgrad<T>({s, c.layout, static_cast<const T*>(at[0]), static_cast<const T*>(at[1]),
                              static_cast<float*>(at[3]), relu ? static_cast<float*>(at[4]) : nullptr,
                              relu ? static_cast<const T*>(at[2]) : nullptr, static_cast<float*>(at[5])},
                             stream);
  };
  return t;
}

const Window kSquares[] = {{3, 1, 1, 1}, {1, 1, 0, 1}, {3, 2, 1, 1}, {3, 1, 0, 1},
                           {5, 3, 2, 1}, {3, 1, 2, 2}, {3, 1, 2, 1}};

// Of 16 bits: the trace has an output tile of the tensor cores' rungs in full.
std::vector<ConvShape> shapes(Purpose purpose, bool of_16_bits) {
  switch (purpose) {
    case Purpose::trace:
      return {of_16_bits ? conv(1, 32, 16, 16, 64) : conv(1, 16, 16, 16, 32)};
    case Purpose::time:
      return {conv(64, 64, 56, 56, 128)};  // VGG's third layer
    case Purpose::check_quick:
      return {conv(1, 1, 1, 1, 1), conv(4, 3, 17, 17, 2), conv(2, 8, 6, 9, 17), conv(1, 3, 7, 5, 65),
              conv(2, 6, 7, 8, 4, {3, 2, 2, 2}, {2, 3, 1, 3}, 2)};
    case Purpose::check:
      break;
  }
  std::vector<ConvShape> list;
  constexpr std::pair<int64_t, int64_t> kChannels[] = {{1, 1},    {3, 64},   {7, 17},  {17, 7},
                                                       {64, 3},   {1, 129},  {129, 1}, {64, 64},
                                                       {129, 17}, {64, 129}, {8, 72}};
  constexpr std::pair<int64_t, int64_t> kSizes[] = {{1, 1}, {5, 7}, {8, 8}, {17, 3}, {2, 16}, {9, 17}};
  size_t i = 0;
  for (auto [C, O] : kChannels)
    for (const Window& window : kSquares) {
      auto [H, W] = kSizes[i++ % std::size(kSizes)];
      if (window.fits(H) && window.fits(W))
        list.push_back(conv(H * W < 64 ? 3 : 1, C, H, W, O, window, window));
    }
  for (auto [C, O, groups] : {std::tuple(17, 17, 17), {17, 34, 17}, {64, 64, 2}, {6, 9, 3}, {129, 3, 3}})
    for (auto [h, w] : {std::pair(Window{}, Window{}), {Window{2, 1, 0, 2}, Window{3, 2, 1, 1}}})
      list.push_back(conv(2, C, 7, 5, O, h, w, groups));
  return list;
}

std::vector<Case> cases(Purpose purpose, const std::vector<ConvLayout>& layouts, bool of_16_bits = false) {
  std::vector<Case> list;
  for (ConvLayout layout : layouts)
    for (const ConvShape& shape : shapes(purpose, of_16_bits))
      list.push_back({shape, layout, list.size() % 3 == 2});
  if (purpose == Purpose::trace || purpose == Purpose::time) list.erase(list.begin(), list.end() - 1);
  return list;
}

template <typename T>
std::vector<Trial> fprop_trials(Forward<T> launcher, const Fprop& rung, Purpose purpose, Element element) {
  std::vector<Trial> list;
  for (Case c : cases(purpose, rung.layouts, sizeof(T) == 2)) {
    if (!rung.takes(c.shape)) continue;
    const bool only_one = purpose == Purpose::trace || purpose == Purpose::time;
    c.fused = rung.fuses && (only_one || list.size() % 2 == 1);
    c.nan = c.fused && !only_one && list.size() % 4 == 1;
    list.push_back(fprop_trial(launcher, rung, element, c, purpose != Purpose::time));
  }
  return list;
}

Rung fprop_rung(int number, const char* name, const Fprop& rung, Forward<float> launcher,
                bool in_engine = false) {
  auto trials = [=](Purpose purpose, Element element) {
    return fprop_trials(launcher, rung, purpose, element);
  };
  return {"conv2d", number, name, {Element::fp32}, trials, in_engine};
}

Rung tensor_core_rung(int number, const char* name, const Fprop& rung, Forward<__half> fp16,
                      Forward<__nv_bfloat16> bf16) {
  auto trials = [=](Purpose purpose, Element element) {
    return element == Element::fp16 ? fprop_trials(fp16, rung, purpose, element)
                                    : fprop_trials(bf16, rung, purpose, element);
  };
  return {"conv2d", number, name, {Element::fp16, Element::bf16}, trials};
}

template <typename T>
std::vector<Trial> gradient_trials(bool weights, Purpose purpose, Element element) {
  std::vector<Trial> list;
  for (const Case& c : cases(purpose, {ConvLayout::nchw, ConvLayout::nhwc})) {
    const bool relu = list.size() % 2 == 1, expected = purpose != Purpose::time;
    list.push_back(weights ? wgrad_trial<T>(element, c, relu, expected)
                           : dgrad_trial<T>(element, c, relu, expected));
  }
  return list;
}

Rung gradient_rung(int number, const char* name, bool weights) {
  auto trials = [=](Purpose purpose, Element element) {
    return element == Element::fp32   ? gradient_trials<float>(weights, purpose, element)
           : element == Element::fp16 ? gradient_trials<__half>(weights, purpose, element)
                                      : gradient_trials<__nv_bfloat16>(weights, purpose, element);
  };
  return {"conv2d", number, name, {Element::fp32, Element::fp16, Element::bf16}, trials, true};
}

}  // namespace

std::vector<Rung> conv2d_rungs() {
  return {fprop_rung(1, "direct", {{ConvLayout::nchw}}, kernels::conv2d_direct),
          fprop_rung(2, "im2col_gemm", {{ConvLayout::nchw}, takes_all, kernels::conv2d_im2col_gemm_workspace},
                     kernels::conv2d_im2col_gemm),
          fprop_rung(3, "implicit_gemm", {{ConvLayout::nchw, ConvLayout::nhwc}},
                     kernels::conv2d_implicit_gemm, true),
          fprop_rung(4, "winograd_2x2",
                     {{ConvLayout::nchw}, winograd_takes, kernels::conv2d_winograd_2x2_workspace},
                     kernels::conv2d_winograd_2x2),
          fprop_rung(5, "winograd_4x4",
                     {{ConvLayout::nchw}, winograd_takes, kernels::conv2d_winograd_4x4_workspace, 10},
                     kernels::conv2d_winograd_4x4),
          tensor_core_rung(6, "mma", {{ConvLayout::nhwc}, takes_all, no_workspace, 1, true},
                           kernels::conv2d_mma, kernels::conv2d_mma),
          tensor_core_rung(7, "mma_pooled", {{ConvLayout::nhwc}, pooling_takes, no_workspace, 1, true, true},
                           kernels::conv2d_mma_pooled, kernels::conv2d_mma_pooled),
          gradient_rung(8, "dgrad", false),
          gradient_rung(9, "wgrad", true)};
}

}  // namespace lathe::study
