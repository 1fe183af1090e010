// Trials of the transposition ladder: from every element type to every other.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <fmt/format.h>

#include "kernels/study/ladders.h"
#include "kernels/transpose/ladder.h"

namespace lathe::study {
namespace {

using kernels::Transposition;

struct Shape {
  int64_t matrices, rows, columns;
  int in_shift = 0, out_shift = 0;  // elements off alignment
};

double rounded(double value, Element element) {
  const auto single = static_cast<float>(value);
  switch (element) {
    case Element::fp16:
      return static_cast<double>(static_cast<float>(__half(single)));
    case Element::bf16:
      return static_cast<double>(static_cast<float>(__nv_bfloat16(single)));
    default:
      return static_cast<double>(single);
  }
}

// Calls function(T()) with the type that `element` names.
template <typename Function>
auto with_type(Element element, const Function& function) {
  switch (element) {
    case Element::fp16:
      return function(__half());
    case Element::bf16:
      return function(__nv_bfloat16());
    default:
      return function(float());
  }
}

template <typename Launcher>
Trial trial(Launcher launcher, Element from, Element to, const Shape& s, bool expected) {
  const std::vector<double> in = random_values(s.matrices * s.rows * s.columns, 1);
  std::vector<double> out;
  if (expected) {
    out.resize(in.size());
    for (size_t i = 0; i < in.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const int64_t column = at % s.columns, row = at / s.columns % s.rows, matrix = at / s.columns / s.rows;
      out[static_cast<size_t>((matrix * s.columns + column) * s.rows + row)] =
          rounded(rounded(in[i], from), to);
    }
  }
  Trial t;
  t.shape = fmt::format("{} of {}×{} to {}{}{}", s.matrices, s.rows, s.columns, name_of(to),
                        s.in_shift ? ", in off alignment" : "", s.out_shift ? ", out off alignment" : "");
  t.element = from;
  t.arrays = {{"in", from, in, {}, 0, s.in_shift},
              {"out", to, std::vector<double>(in.size(), -77), out, 0, s.out_shift}};
  t.launch = [=](std::span<void* const> p, cudaStream_t stream) {
    with_type(from, [&](auto x) {
      with_type(to, [&](auto y) {
        launcher(Transposition<decltype(x), decltype(y)>{static_cast<decltype(x)*>(p[0]),
                                                         static_cast<decltype(y)*>(p[1]), s.matrices, s.rows,
                                                         s.columns},
                 stream);
      });
    });
  };
  t.least_bytes = static_cast<double>(s.matrices * s.rows * s.columns * (bytes_of(from) + bytes_of(to)));
  return t;
}

std::vector<Shape> shapes(Purpose purpose) {
  switch (purpose) {
    case Purpose::trace:
      return {{1, 256, 256}};
    case Purpose::time:
      return {{64, 512, 56 * 56}};
    case Purpose::check_quick:
      return {{0, 1, 1}, {2, 3, 49}, {1, 68, 132}, {1, 129, 67, 1, 3}};
    case Purpose::check:
      break;
  }
  std::vector<Shape> list = {{3, 0, 5}, {70, 3, 1024}, {5, 64, 196}, {1, 20000, 3}, {1, 2, 20000}};
  constexpr int64_t kSizes[] = {1, 3, 7, 17, 64, 68, 129};
  for (int64_t rows : kSizes) {
    for (int64_t columns : kSizes) {
      const int i = static_cast<int>(list.size());  // shifts take turns
      list.push_back({i % 3 + 1, rows, columns, i % 2, i / 2 % 2});
    }
  }
  for (int shift = 1; shift < 4; ++shift) list.push_back({2, 68, 132, shift, 4 - shift});
  return list;
}

// Traced and timed without conversion, checked with every one.
template <typename Launcher>
Rung rung(int number, const char* name, Launcher launcher, bool in_engine = false) {
  return {"transpose",
          number,
          name,
          {Element::fp32, Element::fp16, Element::bf16},
          [launcher](Purpose purpose, Element from) {
            const bool one = purpose == Purpose::trace || purpose == Purpose::time;
            std::vector<Trial> list;
            for (Element to : {Element::fp32, Element::fp16, Element::bf16}) {
              if (one && to != from) continue;
              for (const Shape& shape : shapes(purpose))
                list.push_back(trial(launcher, from, to, shape, purpose != Purpose::time));
            }
            return list;
          },
          in_engine};
}

}  // namespace

std::vector<Rung> transpose_rungs() {
  using namespace kernels;
  return {
      rung(
          1, "naive", [](const auto& p, cudaStream_t stream) { transpose_naive(p, stream); }, true),
      rung(2, "shared_tile", [](const auto& p, cudaStream_t stream) { transpose_shared_tile(p, stream); }),
      rung(3, "padded", [](const auto& p, cudaStream_t stream) { transpose_padded(p, stream); }),
      rung(4, "swizzled", [](const auto& p, cudaStream_t stream) { transpose_swizzled(p, stream); }),
      rung(
          5, "vectorised", [](const auto& p, cudaStream_t stream) { transpose_vectorised(p, stream); },
          true)};
}

}  // namespace lathe::study
