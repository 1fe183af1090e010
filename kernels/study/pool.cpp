// Trials of the pooling ladder: each shape forward and backward.
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "kernels/pool/ladder.h"
#include "kernels/study/ladders.h"

namespace lathe::study {
namespace {

using kernels::MaxPool;
using kernels::MaxPoolGradient;
using kernels::Pool;

struct Shape {
  int64_t samples, channels, height, width;
  int64_t window = 2, stride = 2, padding = 0;
  bool nhwc = true;
  int shift = 0;  // elements off alignment

  int64_t out(int64_t in) const { return (in + 2 * padding - window) / stride + 1; }
  int64_t inputs() const { return samples * channels * height * width; }
  int64_t outputs() const { return samples * channels * out(height) * out(width); }
  // Of an array of `rows` × `columns` positions.
  size_t at(int64_t n, int64_t c, int64_t i, int64_t j, int64_t rows, int64_t columns) const {
    return static_cast<size_t>(nhwc ? ((n * rows + i) * columns + j) * channels + c
                                    : ((n * channels + c) * rows + i) * columns + j);
  }
  Pool pool() const {
    return {nhwc ? samples : samples * channels,
            nhwc ? channels : 1,
            {height, out(height), window, stride, padding},
            {width, out(width), window, stride, padding}};
  }
};

using Values = std::vector<double>;

struct Problem {
  Values x, dy, y, index, dx;
};

// Each window looked through, and its gradient handed to the element that won.
Problem problem(const Shape& s) {
  Problem p{random_values(s.inputs(), 1), random_values(s.outputs(), 2), {}, {}, {}};
  for (double& value : p.x) value = std::round(value * 8) / 8;  // many equals
  for (double& value : p.dy) value = std::round(value * 64) / 64;
  p.x[p.x.size() / 2] = std::numeric_limits<double>::quiet_NaN();
  p.y = p.index = p.dy;
  p.dx.assign(p.x.size(), 0);
  const int64_t rows = s.out(s.height), columns = s.out(s.width);
  for (int64_t n = 0; n < s.samples; ++n)
    for (int64_t c = 0; c < s.channels; ++c)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          const size_t out = s.at(n, c, i, j, rows, columns);
          size_t winner = p.x.size();
          for (int64_t k = 0; k < s.window * s.window; ++k) {
            const int64_t h = i * s.stride - s.padding + k / s.window,
                          w = j * s.stride - s.padding + k % s.window;
            if (h < 0 || h >= s.height || w < 0 || w >= s.width) continue;
            const size_t here = s.at(n, c, h, w, s.height, s.width);
            const bool wins = winner == p.x.size() || p.x[here] > p.x[winner] ||
                              (std::isnan(p.x[here]) && !std::isnan(p.x[winner]));
            if (!wins) continue;
            winner = here;
            p.index[out] = static_cast<double>(k);
          }
          p.y[out] = p.x[winner];
          p.dx[winner] += p.dy[out];
        }
  return p;
}

std::string describe(const Shape& s, const char* direction) {
  return fmt::format("{}, {}x{}x{}x{}, windows {}, stride {}, padding {}, {}{}", direction, s.samples,
                     s.channels, s.height, s.width, s.window, s.stride, s.padding, s.nhwc ? "NHWC" : "NCHW",
                     s.shift ? ", off alignment" : "");
}

template <typename T, typename Launcher>
Trial forward(Launcher launcher, Element element, const Shape& s, const Problem& p) {
  Trial t;
  t.shape = describe(s, "forward");
  t.element = element;
  t.arrays = {{"x", element, p.x, {}, 0, s.shift},
              {"y", element, Values(p.y.size(), -77), p.y, 0, s.shift},
              {"index", Element::uint8, Values(p.y.size(), 77), p.index, 0, s.shift}};
  t.launch = [=](std::span<void* const> at, cudaStream_t stream) {
    launcher(MaxPool<T>{static_cast<const T*>(at[0]), static_cast<T*>(at[1]), static_cast<uint8_t*>(at[2]),
                        s.pool()},
             stream);
  };
  t.operations = static_cast<double>(s.outputs() * (s.window * s.window - 1));
  t.least_bytes = static_cast<double>(s.inputs() * bytes_of(element) + s.outputs() * (bytes_of(element) + 1));
  return t;
}

template <typename T, typename Launcher>
Trial backward(Launcher launcher, Element element, const Shape& s, const Problem& p) {
  Trial t;
  t.shape = describe(s, "backward");
  t.element = element;
  t.arrays = {
      {"index", Element::uint8, p.index, {}, 0, s.shift},
      {"dy", element, p.dy, {}, 0, s.shift},
      {"dx", element, Values(p.x.size(), -77), p.dx, element == Element::fp32 ? 1e-7 : 0x1p-11, s.shift}};
  t.launch = [=](std::span<void* const> at, cudaStream_t stream) {
    launcher(MaxPoolGradient<T>{static_cast<const uint8_t*>(at[0]), static_cast<const T*>(at[1]),
                                static_cast<T*>(at[2]), s.pool()},
             stream);
  };
  t.operations = static_cast<double>(s.outputs() * s.window * s.window);
  t.least_bytes = static_cast<double>(s.inputs() * bytes_of(element) + s.outputs() * (bytes_of(element) + 1));
  return t;
}

std::vector<Shape> shapes(Purpose purpose) {
  switch (purpose) {
    case Purpose::trace:
      return {{2, 64, 32, 32}};
    case Purpose::time:
      return {{64, 64, 64, 64}};
    case Purpose::check_quick:
      return {{1, 1, 2, 2}, {2, 7, 17, 7, 3, 2, 1, false, 1}, {2, 64, 7, 9, 3, 1, 1}, {3, 16, 6, 8}};
    case Purpose::check:
      break;
  }
  std::vector<Shape> list;
  for (bool nhwc : {false, true})
    for (int64_t channels : {1, 3, 7, 17, 64, 129})
      for (auto [height, width] : {std::pair(3, 7), std::pair(8, 6), std::pair(17, 17), std::pair(64, 3)})
        for (auto [window, stride, padding] :
             {std::tuple(2, 2, 0), std::tuple(2, 2, 1), std::tuple(3, 2, 1), std::tuple(3, 1, 0)})
          list.push_back({2, channels, height, width, window, stride, padding, nhwc,
                          static_cast<int>(list.size() % 5 == 1)});
  return list;
}

template <typename T, typename Launcher>
std::vector<Trial> trials_of(Launcher launcher, Purpose purpose, Element element) {
  std::vector<Trial> list;
  for (const Shape& s : shapes(purpose)) {
    const Problem p = problem(s);
    list.push_back(forward<T>(launcher, element, s, p));
    list.push_back(backward<T>(launcher, element, s, p));
  }
  return list;
}

template <typename Launcher>
Rung rung(int number, const char* name, Launcher launcher, bool in_engine = false) {
  auto trials = [launcher](Purpose purpose, Element element) {
    return element == Element::fp32 ? trials_of<float>(launcher, purpose, element)
                                    : trials_of<__half>(launcher, purpose, element);
  };
  return {"pool", number, name, {Element::fp32, Element::fp16}, trials, in_engine};
}

}  // namespace

std::vector<Rung> pool_rungs() {
  auto direct = [](const auto& p, cudaStream_t stream) { kernels::max_pool_direct(p, stream); };
  auto vectorised = [](const auto& p, cudaStream_t stream) { kernels::max_pool_vectorised(p, stream); };
  return {rung(1, "direct", direct, true), rung(2, "vectorised", vectorised)};
}

}  // namespace lathe::study
