// Trials of the optimizer ladder.
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "kernels/optimizer/ladder.h"
#include "kernels/study/ladders.h"

namespace lathe::study {
namespace {

using kernels::Sgd;
using kernels::SgdOptions;
using kernels::SgdTensor;

struct Case {
  std::vector<int64_t> sizes;
  SgdOptions options{0.9f, 5e-4f, false};
  double gradient_scale = 1.0 / 1024;
  int shift = 0;  // elements off alignment
};

constexpr double kRate = 0.125;

struct State {
  std::vector<double> parameter, buffer;
};

// optimizer.h's formula in double.
State step(const State& before, const std::vector<double>& gradient, const Case& c) {
  State after = before;
  if (std::isnan(c.gradient_scale)) return after;
  const double momentum = static_cast<double>(c.options.momentum);
  const double decay = static_cast<double>(c.options.weight_decay);
  for (size_t i = 0; i < gradient.size(); ++i) {
    double g = gradient[i] * c.gradient_scale + decay * before.parameter[i];
    if (momentum != 0) {
      after.buffer[i] = momentum * before.buffer[i] + g;
      g = c.options.nesterov ? g + momentum * after.buffer[i] : after.buffer[i];
    }
    after.parameter[i] = before.parameter[i] - kRate * g;
  }
  return after;
}

Trial trial(void (*launcher)(const Sgd&, cudaStream_t), const Case& c, bool expected) {
  Trial t;
  t.arrays = {{"lr", Element::fp32, {kRate}, {}},
              {"gradient_scale", Element::fp32, {c.gradient_scale}, {}},
              {"table", Element::int64, std::vector<double>(c.sizes.size() * 5), {}, 0, 0, true}};
  for (size_t i = 0; i < c.sizes.size(); ++i) {
    const int64_t n = c.sizes[i];
    const State before{random_values(n, 3 * i), random_values(n, 3 * i + 1)};
    std::vector<double> gradient = random_values(n, 3 * i + 2);
    for (double& g : gradient) g *= 1024;
    State after;
    if (expected) after = step(before, gradient, c);
    t.arrays.push_back(
        {fmt::format("parameter {}", i), Element::fp32, before.parameter, after.parameter, 1e-6, c.shift});
    t.arrays.push_back(
        {fmt::format("buffer {}", i), Element::fp32, before.buffer, after.buffer, 1e-6, c.shift});
    t.arrays.push_back({fmt::format("gradient {}", i), Element::fp32, gradient, {}, 0, c.shift});
  }
  const int64_t elements = std::accumulate(c.sizes.begin(), c.sizes.end(), int64_t{0});
  const bool momentum = c.options.momentum != 0;
  t.shape = fmt::format("{} tensors, {} elements{}{}{}{}", c.sizes.size(), elements,
                        momentum ? ", momentum" : "", c.options.nesterov ? ", Nesterov" : "",
                        std::isnan(c.gradient_scale) ? ", skipped" : "", c.shift ? ", off alignment" : "");
  t.launch = [launcher, c, momentum](std::span<void* const> p, cudaStream_t stream) {
    std::vector<SgdTensor> tensors;
    for (size_t i = 0; i < c.sizes.size(); ++i) {
      auto at = [&](size_t k) { return static_cast<float*>(p[3 + 3 * i + k]); };
      tensors.push_back({at(0), momentum ? at(1) : nullptr, at(2), c.sizes[i]});
    }
    launcher({tensors, static_cast<const float*>(p[0]), static_cast<const float*>(p[1]), c.options, p[2]},
             stream);
  };
  t.operations = (momentum ? 7.0 : 5.0) * static_cast<double>(elements);
  t.least_bytes = (momentum ? 20.0 : 12.0) * static_cast<double>(elements);
  return t;
}

// VGG16's convolutions, with `width` channels in the first.
std::vector<int64_t> vgg16(int64_t width) {
  std::vector<int64_t> sizes;
  int64_t in = 3;
  for (int64_t factor : {1, 1, 2, 2, 4, 4, 4, 8, 8, 8, 8, 8, 8}) {
    const int64_t out = factor * width;
    sizes.insert(sizes.end(), {out * in * 9, out});
    in = out;
  }
  return sizes;
}

std::vector<Case> cases(Purpose purpose) {
  if (purpose == Purpose::trace) return {{vgg16(8)}};
  if (purpose == Purpose::time) return {{vgg16(64)}};
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Case> list = {{{1}},
                            {{129, 1, 0, 2049, 17}, {0.9f, 5e-4f, true}, 1, 1},
                            {{7, 4096, 3}, {0, 0.25f, false}},
                            {{64, 5000}, {0.9f, 0, false}, kNan}};
  if (purpose == Purpose::check_quick) return list;
  for (int count : {1, 3, 7, 17, 64, 129}) {
    std::vector<int64_t> sizes;
    for (int i = 0; i < count; ++i)
      sizes.push_back(std::vector<int64_t>{1, 3, 7, 0, 17, 64, 129, 2048, 2049}[i * 5 % 9]);
    for (bool nesterov : {false, true}) list.push_back({sizes, {0.9f, 5e-4f, nesterov}, 0.5, count % 2});
    list.push_back({sizes, {0, 5e-4f, false}, 2, 1});
    list.push_back({sizes, {0.5f, 0, false}, kNan});
  }
  return list;
}

Rung rung(int number, const char* name, void (*launcher)(const Sgd&, cudaStream_t), bool in_engine = false) {
  auto trials = [launcher](Purpose purpose, Element) {
    std::vector<Trial> list;
    for (const Case& c : cases(purpose)) list.push_back(trial(launcher, c, purpose != Purpose::time));
    return list;
  };
  return {"optimizer", number, name, {Element::fp32}, trials, in_engine};
}

}  // namespace

std::vector<Rung> optimizer_rungs() {
  return {rung(1, "tensor_a_launch", kernels::sgd_tensor_a_launch, true),
          rung(2, "all_in_one_launch", kernels::sgd_all_in_one_launch)};
}

}  // namespace lathe::study
