// Trials of the softmax ladder.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "kernels/softmax/ladder.h"
#include "kernels/study/ladders.h"

namespace lathe::study {
namespace {

using kernels::Softmax;

struct Shape {
  int64_t rows, classes;
  double smoothing = 0;
  bool spoiled = false;  // some rows have a wrong label, or a logit that is not finite
  int shift = 0;         // elements off alignment
};

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                 kInfinity = std::numeric_limits<double>::infinity();

struct Problem {
  std::vector<double> logits, labels, dlosses;
};

Problem problem(const Shape& s) {
  Problem p{random_values(s.rows * s.classes, 1), random_values(s.rows, 2), random_values(s.rows, 3)};
  for (int64_t n = 0; n < s.rows; ++n) {
    double* x = &p.logits[static_cast<size_t>(n * s.classes)];
    const double offset = n % 4 == 3 ? -8192 : 0;  // exp of it would be 0
    std::for_each_n(x, s.classes, [&](double& value) { value = 8 * value + offset; });
    double& label = p.labels[static_cast<size_t>(n)];
    label = std::floor((label + 1) / 2 * static_cast<double>(s.classes));
    if (!s.spoiled) continue;
    if (n % 7 == 0) label = -1;
    if (n % 7 == 1) label = static_cast<double>(s.classes);
    if (n % 7 == 2) x[n % s.classes] = kNan;
    if (n % 7 == 3) x[n % s.classes] = kInfinity;
    if (n % 7 == 4) x[n % s.classes] = -kInfinity;
    if (n % 7 == 5) x[s.classes - 1] = kNan;
  }
  return p;
}

struct Answer {
  std::vector<double> p, losses, dlogits;
};

// Cross-entropy against the smoothed one-hot vector, from log p = x − log Σ exp x.
Answer answer(const Problem& problem, const Shape& s) {
  const double classes = static_cast<double>(s.classes);
  Answer a;
  for (int64_t n = 0; n < s.rows; ++n) {
    const double* x = &problem.logits[static_cast<size_t>(n * s.classes)];
    const double label = problem.labels[static_cast<size_t>(n)], top = *std::max_element(x, x + s.classes);
    const bool finite = std::all_of(x, x + s.classes, [](double value) { return std::isfinite(value); });
    double total = 0, loss = 0;
    for (int64_t k = 0; k < s.classes; ++k) total += std::exp(x[k] - top);
    for (int64_t k = 0; k < s.classes; ++k) {
      const double log_p = x[k] - top - std::log(total), p = std::exp(log_p);
      const double target = s.smoothing / classes + (static_cast<double>(k) == label ? 1 - s.smoothing : 0);
      if (target > 0) loss -= target * log_p;
      const bool valid = finite && label >= 0 && label < classes;
      a.p.push_back(p);
      a.dlogits.push_back(valid ? problem.dlosses[static_cast<size_t>(n)] * (p - target) : kNan);
    }
    a.losses.push_back(finite && label >= 0 && label < classes ? loss : kNan);
  }
  return a;
}

Trial trial(void (*launcher)(const Softmax&, cudaStream_t), const Shape& s, bool expected) {
  const Problem p = problem(s);
  Answer a;
  if (expected) a = answer(p, s);
  const std::vector<double> row(static_cast<size_t>(s.rows), -77), all(p.logits.size(), -77);
  Trial t;
  t.shape = fmt::format("{} rows of {}{}{}{}", s.rows, s.classes,
                        s.smoothing > 0 ? fmt::format(", smoothing {}", s.smoothing) : "",
                        s.spoiled ? ", some spoiled" : "", s.shift ? ", off alignment" : "");
  t.arrays = {{"logits", Element::fp32, p.logits, {}, 0, s.shift},
              {"labels", Element::int32, p.labels, {}, 0, s.shift},
              {"dlosses", Element::fp32, p.dlosses, {}, 0, s.shift},
              {"p", Element::fp32, all, a.p, 1e-6, s.shift},
              {"losses", Element::fp32, row, a.losses, 4e-6, s.shift},
              {"dlogits", Element::fp32, all, a.dlogits, 1e-6, s.shift}};
  t.launch = [=](std::span<void* const> at, cudaStream_t stream) {
    launcher({static_cast<const float*>(at[0]), static_cast<const int32_t*>(at[1]),
              static_cast<const float*>(at[2]), static_cast<float*>(at[3]), static_cast<float*>(at[4]),
              static_cast<float*>(at[5]), s.rows, s.classes, static_cast<float>(s.smoothing)},
             stream);
  };
  const auto logits = static_cast<double>(s.rows * s.classes);
  t.operations = 9 * logits;  // max; − exp +; − exp ÷; − ·
  t.least_bytes = 12 * logits + 12 * static_cast<double>(s.rows);
  return t;
}

std::vector<Shape> shapes(Purpose purpose) {
  switch (purpose) {
    case Purpose::trace:
      return {{256, 1000}};
    case Purpose::time:
      return {{16384, 1000}};
    case Purpose::check_quick:
      return {{1, 1}, {17, 129, 0.1, true, 1}, {3, 1000}, {7, 1500, 0.1, true}};
    case Purpose::check:
      break;
  }
  std::vector<Shape> list;
  for (int64_t rows : {1, 3, 7, 17, 64, 129})
    for (int64_t classes : {1, 3, 7, 17, 64, 129, 1000, 1025}) {
      const size_t i = list.size();
      list.push_back({rows, classes, i % 2 ? 0.1 : 0.0, i % 3 == 1, static_cast<int>(i % 5 == 2)});
    }
  return list;
}

Rung rung(int number, const char* name, void (*launcher)(const Softmax&, cudaStream_t),
          bool in_engine = false) {
  auto trials = [launcher](Purpose purpose, Element) {
    std::vector<Trial> list;
    for (const Shape& shape : shapes(purpose))
      list.push_back(trial(launcher, shape, purpose != Purpose::time));
    return list;
  };
  return {"softmax", number, name, {Element::fp32}, trials, in_engine};
}

}  // namespace

std::vector<Rung> softmax_rungs() {
  return {rung(1, "three_pass", kernels::softmax_three_pass), rung(2, "online", kernels::softmax_online),
          rung(3, "warp_row", kernels::softmax_warp_row, true)};
}

}  // namespace lathe::study
