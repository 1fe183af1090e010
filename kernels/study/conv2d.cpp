// Trials of the convolution ladder.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "kernels/conv2d/ladder.h"
#include "kernels/study/ladders.h"

namespace lathe::study {
namespace {

using kernels::Conv2d;
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
  int shift = 0;  // elements off alignment
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
      "{}N={} C={} H={} W={} O={}, kernel {}x{}, stride {}x{}, padding {}x{}, dilation {}x{}{}, {}{}", what,
      s.N, s.C, s.H, s.W, s.O, s.kernel_h, s.kernel_w, s.stride_h, s.stride_w, s.padding_h, s.padding_w,
      s.dilation_h, s.dilation_w, s.groups > 1 ? fmt::format(", groups {}", s.groups) : "",
      c.layout == ConvLayout::nchw ? "NCHW" : "NHWC", c.shift ? ", off alignment" : "");
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
int64_t no_workspace(const ConvShape&) { return 0; }

// What a forward rung takes.
struct Fprop {
  std::vector<ConvLayout> layouts;
  bool (*takes)(const ConvShape&) = takes_all;
  int64_t (*workspace)(const ConvShape&) = no_workspace;  // bytes
  double digits_lost = 1;                                 // factor of the tolerance
};

template <typename T>
Trial fprop_trial(void (*launcher)(const Conv2d<T>&, cudaStream_t), const Fprop& rung, Element element,
                  const Case& c, bool expected) {
  const ConvShape& s = c.shape;
  const Values x = inputs(x_size(s), 1, element), w = inputs(w_size(s), 2, element);
  Values y;
  if (expected) {
    y.assign(static_cast<size_t>(y_size(s)), 0);
    for_each_product(s, c.layout, [&](size_t a, size_t b, size_t at) { y[at] += x[a] * w[b]; });
  }
  Trial t = describe(c, element, "");
  t.arrays = {
      {"x", element, x, {}, 0, c.shift},
      {"w", element, w, {}, 0, c.shift},
      {"y", element, Values(static_cast<size_t>(y_size(s)), -77), y,
       rung.digits_lost * tolerance(element, s.filter_size()), c.shift},
      {"workspace", Element::fp32, Values(static_cast<size_t>(rung.workspace(s) / 4), NAN), {}, 0, 0, true}};
  t.launch = [=](std::span<void* const> at, cudaStream_t stream) {
    launcher({s, c.layout, static_cast<const T*>(at[0]), static_cast<const T*>(at[1]), static_cast<T*>(at[2]),
              nullptr, false, static_cast<float*>(at[3])},
             stream);
  };
  return t;
}

const Window kSquares[] = {{3, 1, 1, 1}, {1, 1, 0, 1}, {3, 2, 1, 1}, {3, 1, 0, 1},
                           {5, 3, 2, 1}, {3, 1, 2, 2}, {3, 1, 2, 1}};

std::vector<ConvShape> shapes(Purpose purpose) {
  switch (purpose) {
    case Purpose::trace:
      return {conv(1, 16, 16, 16, 32)};
    case Purpose::time:
      return {conv(64, 64, 56, 56, 128)};  // VGG's third layer
    case Purpose::check_quick:
      return {conv(1, 1, 1, 1, 1), conv(2, 8, 6, 9, 17), conv(1, 3, 7, 5, 65),
              conv(2, 6, 7, 8, 4, {3, 2, 2, 2}, {2, 3, 1, 3}, 2)};
    case Purpose::check:
      break;
  }
  std::vector<ConvShape> list;
  constexpr std::pair<int64_t, int64_t> kChannels[] = {{1, 1},   {3, 64},  {7, 17},  {17, 7},   {64, 3},
                                                       {1, 129}, {129, 1}, {64, 64}, {129, 17}, {64, 129}};
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

std::vector<Case> cases(Purpose purpose, const std::vector<ConvLayout>& layouts) {
  std::vector<Case> list;
  for (ConvLayout layout : layouts)
    for (const ConvShape& shape : shapes(purpose)) list.push_back({shape, layout, list.size() % 4 == 2});
  if (purpose == Purpose::trace || purpose == Purpose::time) list.erase(list.begin(), list.end() - 1);
  return list;
}

template <typename T>
Rung fprop_rung(int number, const char* name, Fprop rung, void (*launcher)(const Conv2d<T>&, cudaStream_t),
                bool in_engine = false) {
  auto trials = [=](Purpose purpose, Element element) {
    std::vector<Trial> list;
    for (const Case& c : cases(purpose, rung.layouts))
      if (rung.takes(c.shape))
        list.push_back(fprop_trial(launcher, rung, element, c, purpose != Purpose::time));
    return list;
  };
  return {"conv2d", number, name, {Element::fp32}, trials, in_engine};
}

}  // namespace

std::vector<Rung> conv2d_rungs() {
  return {fprop_rung(1, "direct", {{ConvLayout::nchw}}, kernels::conv2d_direct),
          fprop_rung(2, "im2col_gemm", {{ConvLayout::nchw}, takes_all, kernels::conv2d_im2col_gemm_workspace},
                     kernels::conv2d_im2col_gemm)};
}

}  // namespace lathe::study
