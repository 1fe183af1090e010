// Trials of the reduction ladder.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "kernels/reduce/ladder.h"
#include "kernels/study/ladders.h"

namespace lathe::study {
namespace {

using kernels::Reduce;
using kernels::ReduceKind;

struct Problem {
  int64_t n;
  ReduceKind kind = ReduceKind::sum;
  int shift = 0;         // elements off alignment
  bool special = false;  // an infinity and a NaN among the values
};

std::string_view name_of(ReduceKind kind) {
  constexpr std::string_view kNames[] = {"sum", "sum of squares", "numbers that are not finite"};
  return kNames[static_cast<int>(kind)];
}

double reduce(const std::vector<double>& x, ReduceKind kind) {
  double sum = 0;
  for (double value : x) {
    sum += kind == ReduceKind::sum          ? value
           : kind == ReduceKind::square_sum ? value * value
           : std::isfinite(value)           ? 0
                                            : 1;
  }
  return sum;
}

Trial trial(void (*launcher)(const Reduce&, cudaStream_t), const Problem& p) {
  std::vector<double> x = random_values(p.n, 1);
  if (p.special) {
    x[static_cast<size_t>(p.n / 3)] = std::numeric_limits<double>::infinity();
    x[static_cast<size_t>(p.n - 1)] = std::numeric_limits<double>::quiet_NaN();
  }
  const int64_t workspace = kernels::reduce_workspace(p.n);
  // Roundings of a sum of signed numbers are relative to the sums on the way, about sqrt(n).
  const double tolerance = p.kind == ReduceKind::sum ? 1e-6 * std::sqrt(static_cast<double>(p.n) + 1) : 2e-6;
  Trial t;
  t.shape = fmt::format("n={}, {}{}{}", p.n, name_of(p.kind), p.shift ? ", off alignment" : "",
                        p.special ? ", an infinity and a NaN" : "");
  t.arrays = {{"x", Element::fp32, x, {}, 0, p.shift},
              {"result", Element::fp32, {-77}, {reduce(x, p.kind)}, tolerance},
              {"workspace",
               Element::fp64,
               std::vector<double>(static_cast<size_t>((workspace + 7) / 8), -77),
               {},
               0,
               0,
               true}};
  t.launch = [launcher, p](std::span<void* const> at, cudaStream_t stream) {
    launcher({static_cast<const float*>(at[0]), p.n, p.kind, static_cast<float*>(at[1]), at[2]}, stream);
  };
  const auto n = static_cast<double>(p.n);
  t.operations = p.kind == ReduceKind::square_sum ? 2 * n : n;
  t.least_bytes = 4 * n + 4;
  return t;
}

std::vector<Problem> problems(Purpose purpose) {
  switch (purpose) {
    case Purpose::trace:
      return {{int64_t{1} << 16}};
    case Purpose::time:
      return {{int64_t{1} << 26}};
    case Purpose::check_quick:
      return {{0}, {1}, {4099, ReduceKind::square_sum, 1}, {2500, ReduceKind::not_finite, 0, true}};
    case Purpose::check:
      break;
  }
  std::vector<Problem> list = {{5000011}};  // more than one wave of rung 5
  for (int64_t n : {0, 1, 3, 7, 17, 64, 129, 255, 256, 257, 2047, 2049, 65537, 300001}) {
    for (ReduceKind kind : {ReduceKind::sum, ReduceKind::square_sum, ReduceKind::not_finite}) {
      list.push_back({n, kind});
      list.push_back({n, kind, static_cast<int>(n % 3) + 1});
      if (n > 2) list.push_back({n, kind, 0, true});
    }
  }
  return list;
}

Rung rung(int number, const char* name, void (*launcher)(const Reduce&, cudaStream_t),
          bool in_engine = false) {
  return {"reduce",
          number,
          name,
          {Element::fp32},
          [launcher](Purpose purpose, Element) {
            std::vector<Trial> list;
            for (const Problem& problem : problems(purpose)) list.push_back(trial(launcher, problem));
            return list;
          },
          in_engine};
}

}  // namespace

std::vector<Rung> reduce_rungs() {
  return {rung(1, "interleaved", kernels::reduce_interleaved),
          rung(2, "sequential", kernels::reduce_sequential), rung(3, "unrolled", kernels::reduce_unrolled),
          rung(4, "warp_shuffle", kernels::reduce_warp_shuffle),
          rung(5, "vectorised", kernels::reduce_vectorised, true)};
}

}  // namespace lathe::study
