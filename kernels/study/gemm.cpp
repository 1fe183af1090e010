// Trials of the GEMM ladder.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "kernels/gemm/ladder.h"
#include "kernels/study/ladders.h"
#include "kernels/study/library.h"

namespace lathe::study {
namespace {

using kernels::Gemm;
using kernels::Transpose;

struct Shape {
  int64_t M, N, K;
  int64_t gap = 0;        // elements between the rows of each matrix
  int shift = 0;          // elements off alignment
  bool epilogue = false;  // bias and ReLU
  bool transpose_a = false, transpose_b = false;

  int64_t lda() const { return (transpose_a ? M : K) + gap; }
  int64_t ldb() const { return (transpose_b ? K : N) + gap; }
  int64_t ldc() const { return N + gap; }
  int64_t size_a() const { return (transpose_a ? K : M) * lda(); }
  int64_t size_b() const { return (transpose_b ? N : K) * ldb(); }
  size_t a(int64_t m, int64_t k) const {
    return static_cast<size_t>(transpose_a ? k * lda() + m : m * lda() + k);
  }
  size_t b(int64_t k, int64_t n) const {
    return static_cast<size_t>(transpose_b ? n * ldb() + k : k * ldb() + n);
  }
};

// The product in double, of what `element` holds of the values: they are exact in 16 bit. −77 marks the gaps.
std::vector<double> product(const std::vector<double>& A, const std::vector<double>& B,
                            const std::vector<double>& bias, const Shape& s) {
  std::vector<double> C(static_cast<size_t>(s.M * s.ldc()), -77);
  for (int64_t m = 0; m < s.M; ++m) {
    double* row = &C[static_cast<size_t>(m * s.ldc())];
    std::fill_n(row, s.N, 0.0);
    for (int64_t k = 0; k < s.K; ++k) {
      const double a = A[s.a(m, k)];
      for (int64_t n = 0; n < s.N; ++n) row[n] += a * B[s.b(k, n)];
    }
    if (!s.epilogue) continue;
    for (int64_t n = 0; n < s.N; ++n) row[n] = std::max(0.0, row[n] + bias[static_cast<size_t>(n)]);
  }
  return C;
}

template <typename T>
Trial trial(void (*launcher)(const Gemm<T>&, cudaStream_t), Element element, const Shape& s, bool expected) {
  std::vector<double> A = random_values(s.size_a(), 1), B = random_values(s.size_b(), 2),
                      bias = random_values(s.N, 3);
  if (element == Element::bf16) {  // 8 significant bits: make the inputs exact
    for (auto* values : {&A, &B, &bias})
      for (double& value : *values) value = std::round(value * 128) / 128;
  }
  std::vector<double> C;
  if (expected) C = product(A, B, bias, s);
  const double round = element == Element::fp32 ? 0 : element == Element::fp16 ? 0x1p-11 : 0x1p-8;
  const double tolerance = round + 1e-6 * std::sqrt(static_cast<double>(s.K));
  Trial t;
  t.shape =
      fmt::format("M={} N={} K={}{}{}{}{}{}", s.M, s.N, s.K, s.transpose_a ? ", A transposed" : "",
                  s.transpose_b ? ", B transposed" : "", s.gap ? fmt::format(", rows {} apart", s.gap) : "",
                  s.shift ? ", off alignment" : "", s.epilogue ? ", bias and ReLU" : "");
  t.element = element;
  t.arrays = {
      {"A", element, A, {}, 0, s.shift},
      {"B", element, B, {}, 0, s.shift},
      {"C", element, std::vector<double>(static_cast<size_t>(s.M * s.ldc()), -77), C, tolerance, s.shift},
      {"bias", element, bias, {}, 0, s.shift}};
  t.launch = [=](std::span<void* const> p, cudaStream_t stream) {
    launcher({.A = static_cast<const T*>(p[0]),
              .lda = s.lda(),
              .B = static_cast<const T*>(p[1]),
              .ldb = s.ldb(),
              .C = static_cast<T*>(p[2]),
              .ldc = s.ldc(),
              .M = s.M,
              .N = s.N,
              .K = s.K,
              .bias = s.epilogue ? static_cast<const T*>(p[3]) : nullptr,
              .relu = s.epilogue,
              .transpose_a = s.transpose_a ? Transpose::yes : Transpose::no,
              .transpose_b = s.transpose_b ? Transpose::yes : Transpose::no},
             stream);
  };
  t.library = library_gemm({.element = element,
                            .M = s.M,
                            .N = s.N,
                            .K = s.K,
                            .lda = s.lda(),
                            .ldb = s.ldb(),
                            .ldc = s.ldc(),
                            .transpose_a = s.transpose_a,
                            .transpose_b = s.transpose_b,
                            .epilogue = s.epilogue});
  t.operations = 2.0 * static_cast<double>(s.M) * static_cast<double>(s.N) * static_cast<double>(s.K);
  t.least_bytes =
      static_cast<double>((s.M * s.K + s.K * s.N + s.M * s.N + (s.epilogue ? s.N : 0)) * bytes_of(element));
  return t;
}

std::vector<Shape> shapes(Purpose purpose, bool epilogue) {
  switch (purpose) {
    case Purpose::trace:
      return {{256, 256, 256, 0, 0, epilogue}};
    case Purpose::time:
      return {{4096, 4096, 4096, 0, 0, epilogue}};
    case Purpose::check_quick:
      return {{1, 1, 1},
              {129, 67, 33, 3, 1, epilogue},
              {64, 128, 64, 0, 0, epilogue},
              {130, 136, 200, 0, 0, epilogue},
              {65, 34, 18, 0, 0, epilogue}};
    case Purpose::check:
      break;
  }
  std::vector<Shape> list;
  constexpr int64_t kSizes[] = {1, 3, 7, 17, 64, 129};
  for (int64_t M : kSizes)
    for (int64_t N : kSizes)
      for (int64_t K : kSizes) {
        const int i = static_cast<int>(list.size());  // gaps and shifts take turns
        list.push_back({M, N, K,
                        i % 3 == 1   ? 3
                        : i % 3 == 2 ? 8
                                     : 0,
                        i % 4 == 3 ? 1 : 0, epilogue && i % 2 == 1});
      }
  return list;
}

template <typename T>
std::vector<Trial> trials(void (*launcher)(const Gemm<T>&, cudaStream_t), Purpose purpose, Element element,
                          bool epilogue) {
  std::vector<Trial> list;
  for (const Shape& shape : shapes(purpose, epilogue))
    list.push_back(trial(launcher, element, shape, purpose != Purpose::time));
  return list;
}

Rung fp32_rung(int number, const char* name, void (*launcher)(const Gemm<float>&, cudaStream_t)) {
  return {"gemm", number, name, {Element::fp32}, [launcher](Purpose purpose, Element element) {
            return trials(launcher, purpose, element, false);
          }};
}

// The trials of the others, then with one or both matrices transposed.
Rung double_buffered_rung() {
  Rung rung = fp32_rung(8, "double_buffered", kernels::gemm_double_buffered);
  rung.in_engine = true;
  rung.trials = [](Purpose purpose, Element element) {
    std::vector<Trial> list = trials(kernels::gemm_double_buffered, purpose, element, false);
    if (purpose == Purpose::trace || purpose == Purpose::time) return list;
    for (Shape shape : shapes(purpose, false)) {
      const size_t turn = list.size() % 3;
      shape.transpose_a = turn != 0, shape.transpose_b = turn != 1;
      list.push_back(trial(kernels::gemm_double_buffered, element, shape, true));
    }
    return list;
  };
  return rung;
}

Rung tensor_core_rung(int number, const char* name, void (*fp16)(const Gemm<__half>&, cudaStream_t),
                      void (*bf16)(const Gemm<__nv_bfloat16>&, cudaStream_t)) {
  return {"gemm", number, name, {Element::fp16, Element::bf16}, [=](Purpose purpose, Element element) {
            return element == Element::fp16 ? trials(fp16, purpose, element, true)
                                            : trials(bf16, purpose, element, true);
          }};
}

}  // namespace

std::vector<Rung> gemm_rungs() {
  return {fp32_rung(1, "naive", kernels::gemm_naive),
          fp32_rung(2, "coalesced", kernels::gemm_coalesced),
          fp32_rung(3, "shared_tile", kernels::gemm_shared_tile),
          fp32_rung(4, "register_tile_1d", kernels::gemm_register_tile_1d),
          fp32_rung(5, "register_tile_2d", kernels::gemm_register_tile_2d),
          fp32_rung(6, "vectorised", kernels::gemm_vectorised),
          fp32_rung(7, "warp_tile", kernels::gemm_warp_tile),
          double_buffered_rung(),
          tensor_core_rung(9, "wmma", kernels::gemm_wmma, kernels::gemm_wmma),
          tensor_core_rung(10, "mma_pipelined", kernels::gemm_mma_pipelined, kernels::gemm_mma_pipelined)};
}

}  // namespace lathe::study
