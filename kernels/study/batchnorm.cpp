// Trials of the batch normalisation ladder: each shape forward and backward.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "kernels/batchnorm/ladder.h"
#include "kernels/study/ladders.h"

namespace lathe::study {
namespace {

using kernels::Activation;
using kernels::BatchNorm;
using kernels::BatchNormGradient;

constexpr double kMomentum = 0.1, kEpsilon = 1e-5;

struct Shape {
  int64_t samples, channels, positions;
  bool nhwc = false;
  int shift = 0;  // elements off alignment

  size_t at(int64_t n, int64_t c, int64_t s) const {
    return static_cast<size_t>(nhwc ? (n * positions + s) * channels + c
                                    : (n * channels + c) * positions + s);
  }
  int64_t elements() const { return samples * channels * positions; }
  Activation activation() const {
    return nhwc ? Activation{samples, 1, positions, channels} : Activation{samples, channels, positions, 1};
  }
};

using Values = std::vector<double>;

struct Problem {
  Values x, dy, gamma, beta;                                 // inputs
  Values mean, variance, running_mean, running_variance, y;  // what training makes of them
  Values dx, dgamma, dbeta;
};

constexpr double kOldMean = 0.5, kOldVariance = 2;

// The definitions, channel by channel, in double.
Problem problem(const Shape& s, bool relu, bool expected) {
  Problem p{random_values(s.elements(), 1),
            random_values(s.elements(), 2),
            random_values(s.channels, 3),
            random_values(s.channels, 4),
            {},
            {},
            {},
            {},
            {},
            {},
            {},
            {}};
  const double m = static_cast<double>(s.samples * s.positions);
  auto each = [&](int64_t c, auto body) {
    for (int64_t n = 0; n < s.samples; ++n)
      for (int64_t k = 0; k < s.positions; ++k) body(s.at(n, c, k));
  };
  if (expected) p.y = p.dx = p.x;
  for (int64_t c = 0; c < s.channels; ++c) {
    const double offset = c % 3 == 2 ? 128 : 0;  // a mean far larger than the deviation
    double mean = 0, variance = 0, dbeta = 0, dgamma = 0;
    each(c, [&](size_t i) { mean += (p.x[i] += offset) / m; });
    each(c, [&](size_t i) { variance += (p.x[i] - mean) * (p.x[i] - mean) / m; });
    p.mean.push_back(mean), p.variance.push_back(variance);
    if (!expected) continue;
    p.running_mean.push_back((1 - kMomentum) * kOldMean + kMomentum * mean);
    p.running_variance.push_back((1 - kMomentum) * kOldVariance + kMomentum * variance * m / (m - 1));
    const double deviation = std::sqrt(variance + kEpsilon), gamma = p.gamma[static_cast<size_t>(c)];
    const double stored_mean = static_cast<double>(static_cast<float>(mean));  // what the kernels go by
    auto hat = [&](size_t i) { return (p.x[i] - stored_mean) / deviation; };
    each(c, [&](size_t i) {
      p.y[i] = hat(i) * gamma + p.beta[static_cast<size_t>(c)];
      if (relu) p.y[i] = std::max(p.y[i], 0.0);
    });
    auto incoming = [&](size_t i) { return relu && p.y[i] <= 0 ? 0 : p.dy[i]; };
    each(c, [&](size_t i) { dbeta += incoming(i), dgamma += incoming(i) * hat(i); });
    each(c, [&](size_t i) { p.dx[i] = gamma / deviation * (incoming(i) - dbeta / m - hat(i) * dgamma / m); });
    p.dbeta.push_back(dbeta), p.dgamma.push_back(dgamma);
  }
  return p;
}

std::string describe(const Shape& s, const char* direction) {
  return fmt::format("{}, {} samples, {} channels, {} positions, {}{}", direction, s.samples, s.channels,
                     s.positions, s.nhwc ? "NHWC" : "NCHW", s.shift ? ", off alignment" : "");
}

using Forward = void (*)(const BatchNorm&, cudaStream_t);
using Backward = void (*)(const BatchNormGradient&, cudaStream_t);

Trial forward(Forward launcher, const Shape& s, const Problem& p) {
  auto each_channel = [&](double value) { return Values(static_cast<size_t>(s.channels), value); };
  Trial t;
  t.shape = describe(s, "forward");
  t.arrays = {
      {"x", Element::fp32, p.x, {}, 0, s.shift},
      {"gamma", Element::fp32, p.gamma, {}, 0, s.shift},
      {"beta", Element::fp32, p.beta, {}, 0, s.shift},
      {"y", Element::fp32, Values(p.x.size(), -77), p.y, 1e-4, s.shift},
      {"mean", Element::fp32, each_channel(-77), p.y.empty() ? Values() : p.mean, 1e-6, s.shift},
      {"variance", Element::fp32, each_channel(-77), p.y.empty() ? Values() : p.variance, 1e-5, s.shift},
      {"running mean", Element::fp32, each_channel(kOldMean), p.running_mean, 1e-6, s.shift},
      {"running variance", Element::fp32, each_channel(kOldVariance), p.running_variance, 1e-5, s.shift},
      {"workspace", Element::fp32, each_channel(0), {}, 0, s.shift, true}};
  t.launch = [launcher, s](std::span<void* const> at, cudaStream_t stream) {
    auto f = [&](size_t i) { return static_cast<float*>(at[i]); };
    launcher({f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), s.activation(), kMomentum, kEpsilon, f(8)},
             stream);
  };
  t.operations = 7 * static_cast<double>(s.elements());
  t.least_bytes = 8 * static_cast<double>(s.elements()) + 32 * static_cast<double>(s.channels);
  return t;
}

Trial backward(Backward launcher, const Shape& s, const Problem& p, bool relu) {
  auto unwritten = [](const Values& like) { return Values(like.size(), -77); };
  // The mask needs y of training; what it is otherwise does not matter.
  const Values y = p.y.empty() ? p.x : p.y;
  Trial t;
  t.shape = describe(s, "backward");
  t.arrays = {{"x", Element::fp32, p.x, {}, 0, s.shift},
              {"y", Element::fp32, y, {}, 0, s.shift},
              {"dy", Element::fp32, p.dy, {}, 0, s.shift},
              {"gamma", Element::fp32, p.gamma, {}, 0, s.shift},
              {"mean", Element::fp32, p.mean, {}, 0, s.shift},
              {"variance", Element::fp32, p.variance, {}, 0, s.shift},
              {"dx", Element::fp32, unwritten(p.x), p.dx, 1e-4, s.shift},
              {"dgamma", Element::fp32, unwritten(p.gamma), p.dgamma, 1e-4, s.shift},
              {"dbeta", Element::fp32, unwritten(p.gamma), p.dbeta, 1e-6, s.shift},
              {"workspace", Element::fp32, Values(3 * p.gamma.size()), {}, 0, s.shift, true}};
  t.launch = [launcher, s](std::span<void* const> at, cudaStream_t stream) {
    auto f = [&](size_t i) { return static_cast<float*>(at[i]); };
    launcher({f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), s.activation(), kEpsilon, f(9)}, stream);
  };
  t.operations = (relu ? 12 : 10) * static_cast<double>(s.elements());
  t.least_bytes = (relu ? 16 : 12) * static_cast<double>(s.elements()) + 20 * static_cast<double>(s.channels);
  return t;
}

std::vector<Shape> shapes(Purpose purpose) {
  switch (purpose) {
    case Purpose::trace:
      return {{4, 32, 256, false}, {4, 32, 256, true}};
    case Purpose::time:
      return {{64, 64, 1024, false}, {64, 64, 1024, true}};
    case Purpose::check_quick:
      return {{2, 1, 1}, {3, 7, 17, false, 1}, {7, 129, 1, true}, {2, 64, 64, true}};
    case Purpose::check:
      break;
  }
  std::vector<Shape> list;
  for (bool nhwc : {false, true})
    for (int64_t channels : {1, 3, 7, 17, 64, 129})
      for (int64_t samples : {2, 7, 17})
        for (int64_t positions : {1, 3, 64, 129})
          list.push_back({samples, channels, positions, nhwc, static_cast<int>(list.size() % 3 == 1)});
  return list;
}

Rung rung(int number, const char* name, Forward forward_launcher, Backward backward_launcher,
          bool in_engine) {
  const bool relu = number == 3;
  auto trials = [=](Purpose purpose, Element) {
    std::vector<Trial> list;
    for (const Shape& s : shapes(purpose)) {
      const Problem p = problem(s, relu, purpose != Purpose::time);
      list.push_back(forward(forward_launcher, s, p));
      list.push_back(backward(backward_launcher, s, p, relu));
    }
    return list;
  };
  return {"batchnorm", number, name, {Element::fp32}, trials, in_engine};
}

}  // namespace

std::vector<Rung> batchnorm_rungs() {
  using namespace kernels;
  // The engine trains with rung 1's statistics and rung 2's gradient: the divisions of rung 2's statistics
  // are slower on a CPU than a second pass.
  return {rung(1, "two_pass", batch_norm_two_pass, batch_norm_two_pass, true),
          rung(2, "welford", batch_norm_welford, batch_norm_welford, true),
          rung(3, "fused_relu", batch_norm_fused_relu, batch_norm_fused_relu, false)};
}

}  // namespace lathe::study
