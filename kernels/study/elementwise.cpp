// Trials of the elementwise ladder: each shape in bias + ReLU, in dropout and in addition.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "kernels/elementwise/ladder.h"
#include "kernels/random/philox.h"
#include "kernels/study/ladders.h"

namespace lathe::study {
namespace {

using namespace kernels;

struct Shape {
  int64_t samples, channels, inner;
  int shift = 0, y_shift = 0;  // elements off alignment, of inputs and of y
  int64_t n() const { return samples * channels * inner; }
};

// Exact in 16 bit, so that only the result is rounded.
std::vector<double> inputs(int64_t n, uint64_t seed) {
  std::vector<double> values = random_values(n, seed);
  for (double& value : values) value = std::round(value * 128) / 128;
  return values;
}

double rounding(Element element) {
  return element == Element::fp32 ? 1e-7 : element == Element::fp16 ? 0x1p-11 : 0x1p-8;
}

Array unwritten(int64_t n, const std::vector<double>& expected, Element element, int shift) {
  return {"y", element, std::vector<double>(static_cast<size_t>(n), -77), expected, rounding(element), shift};
}

template <typename T, typename Launcher>
Trial bias_relu(Launcher launcher, Element element, const Shape& s) {
  std::vector<double> x = inputs(s.n(), 1), y;
  const std::vector<double> bias = inputs(s.channels, 2);
  x[x.size() / 2] = std::numeric_limits<double>::quiet_NaN();
  for (size_t i = 0, n = 0; n < static_cast<size_t>(s.samples); ++n)
    for (double b : bias)
      for (int64_t k = 0; k < s.inner; ++k, ++i) y.push_back(x[i] + b < 0 ? 0 : x[i] + b);
  Trial t;
  t.shape = fmt::format("bias + ReLU, [{}, {}, {}]", s.samples, s.channels, s.inner);
  t.arrays = {{"x", element, x, {}, 0, s.shift},
              {"bias", element, bias, {}, 0, s.shift},
              unwritten(s.n(), y, element, s.y_shift)};
  t.launch = [=](std::span<void* const> p, cudaStream_t stream) {
    launcher(BiasRelu<T>{static_cast<const T*>(p[0]), static_cast<const T*>(p[1]), static_cast<T*>(p[2]),
                         s.n(), s.channels, s.inner},
             stream);
  };
  t.operations = 2.0 * static_cast<double>(s.n());
  t.least_bytes = static_cast<double>((2 * s.n() + s.channels) * bytes_of(element));
  return t;
}

template <typename T, typename Launcher>
Trial dropout(Launcher launcher, Element element, const Shape& s) {
  constexpr double kP = 0.25;  // exact, as is every word's comparison with it
  constexpr int64_t kSeed = 1234567890123, kStep = 77, kLayer = 5;
  const std::vector<double> x = inputs(s.n(), 1);
  std::vector<double> y;
  for (size_t i = 0; i < x.size(); ++i) {
    const Philox4 words = philox(kSeed, random_stream(RandomUse::dropout, kLayer, kStep), i / 4);
    y.push_back(words.word[i % 4] / 0x1p32 < kP ? 0 : x[i] / (1 - kP));
  }
  Trial t;
  t.shape = fmt::format("dropout, {} elements", s.n());
  t.arrays = {{"x", element, x, {}, 0, s.shift},
              {"seed", Element::int64, {static_cast<double>(kSeed)}, {}},
              {"step", Element::int64, {static_cast<double>(kStep)}, {}},
              unwritten(s.n(), y, element, s.y_shift)};
  t.launch = [=](std::span<void* const> p, cudaStream_t stream) {
    launcher(Dropout<T>{static_cast<const T*>(p[0]), static_cast<const int64_t*>(p[1]),
                        static_cast<const int64_t*>(p[2]), static_cast<T*>(p[3]), s.n(), kP, kLayer},
             stream);
  };
  t.operations = 15.0 * static_cast<double>(s.n());  // a quarter of a Philox counter
  t.least_bytes = static_cast<double>(2 * s.n() * bytes_of(element));
  return t;
}

template <typename T, typename Launcher>
Trial add(Launcher launcher, Element element, const Shape& s) {
  const std::vector<double> a = inputs(s.n(), 1), b = inputs(s.n(), 2);
  std::vector<double> y;
  std::transform(a.begin(), a.end(), b.begin(), std::back_inserter(y), std::plus<>());
  Trial t;
  t.shape = fmt::format("add, {} elements", s.n());
  t.arrays = {{"a", element, a, {}, 0, s.shift},
              {"b", element, b, {}, 0, s.shift},
              unwritten(s.n(), y, element, s.y_shift)};
  t.launch = [=](std::span<void* const> p, cudaStream_t stream) {
    launcher(Add<T>{static_cast<const T*>(p[0]), static_cast<const T*>(p[1]), static_cast<T*>(p[2]), s.n()},
             stream);
  };
  t.operations = static_cast<double>(s.n());
  t.least_bytes = static_cast<double>(3 * s.n() * bytes_of(element));
  return t;
}

std::vector<Shape> shapes(Purpose purpose) {
  switch (purpose) {
    case Purpose::trace:
      return {{4, 64, 256}};
    case Purpose::time:
      return {{64, 64, 4096}};
    case Purpose::check_quick:
      return {{1, 1, 1}, {3, 7, 17, 1, 1}, {2, 64, 16}, {3, 129, 1}};
    case Purpose::check:
      break;
  }
  std::vector<Shape> list;
  for (int64_t samples : {1, 7})
    for (int64_t channels : {1, 3, 7, 17, 64, 129})
      for (int64_t inner : {1, 3, 7, 17, 64, 129}) {
        const size_t i = list.size();  // alignments take turns
        list.push_back({samples, channels, inner, i % 3 == 1, i % 4 == 1});
      }
  return list;
}

template <typename T, typename Launcher>
std::vector<Trial> trials_of(Launcher launcher, Purpose purpose, Element element) {
  std::vector<Trial> list;
  for (const Shape& shape : shapes(purpose)) {
    list.push_back(bias_relu<T>(launcher, element, shape));
    list.push_back(dropout<T>(launcher, element, shape));
    list.push_back(add<T>(launcher, element, shape));
    if (shape.shift + shape.y_shift > 0)
      std::for_each(list.end() - 3, list.end(), [](Trial& t) { t.shape += ", off alignment"; });
  }
  for (Trial& t : list) t.element = element;
  return list;
}

template <typename Launcher>
Rung rung(int number, const char* name, Launcher launcher, bool in_engine) {
  auto trials = [launcher](Purpose purpose, Element element) {
    return element == Element::fp32   ? trials_of<float>(launcher, purpose, element)
           : element == Element::fp16 ? trials_of<__half>(launcher, purpose, element)
                                      : trials_of<__nv_bfloat16>(launcher, purpose, element);
  };
  return {"elementwise", number, name, {Element::fp32, Element::fp16, Element::bf16}, trials, in_engine};
}

}  // namespace

std::vector<Rung> elementwise_rungs() {
  auto scalar = [](const auto& problem, cudaStream_t stream) { elementwise_scalar(problem, stream); };
  auto vectorised = [](const auto& problem, cudaStream_t stream) { elementwise_vectorised(problem, stream); };
  // The engine adds by rung 1, which g++ vectorises better, and draws dropout by rung 2.
  return {rung(1, "scalar", scalar, true), rung(2, "vectorised", vectorised, true)};
}

}  // namespace lathe::study
