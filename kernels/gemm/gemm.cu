// GEMM, shared-memory tiles with a 4×4 register tile:  C[M,N] = op(A)[M,K] · op(B)[K,N], fp32.
// The idea, its traffic and its bound are told in tiled_product.cuh; here is only how an element is fetched.
#include "kernels/gemm/gemm.h"

#include "kernels/gemm/tiled_product.cuh"

namespace lathe::kernels {
namespace {

// Element (o, k) of an operand, o being m for A and n for B.
template <bool contiguous_k>
struct Matrix {
  static constexpr bool k_is_contiguous = contiguous_k;
  const float* data;  // [outers, K] where k is contiguous, else [K, outers]; rows `leading` apart
  int64_t leading, outers, K;

  using Outer = int64_t;
  using Inner = int64_t;
  __device__ Outer outer(int64_t, int64_t o) const { return o; }
  __device__ Inner inner(int64_t k) const { return k; }
  __device__ float load(Outer o, Inner k) const {
    if (o >= outers || k >= K) return 0;
    return contiguous_k ? data[o * leading + k] : data[k * leading + o];
  }
};

struct Result {
  float* data;  // [M,N], rows `leading` apart
  int64_t leading, M, N;
  __device__ void store(int64_t, int64_t m, int64_t n, float value) const {
    if (m < M && n < N) data[m * leading + n] = value;
  }
};

}  // namespace

void gemm(const MatrixOperand& A, const MatrixOperand& B, float* C, int64_t ldc, int64_t M, int64_t N,
          int64_t K, cudaStream_t stream) {
  const Result result{C, ldc, M, N};
  auto with_b = [&](const auto& a) {
    if (B.transpose == Transpose::yes) {
      launch_tiled_product(a, Matrix<true>{B.data, B.leading, N, K}, result, 1, M, N, K, stream);
    } else {
      launch_tiled_product(a, Matrix<false>{B.data, B.leading, N, K}, result, 1, M, N, K, stream);
    }
  };
  if (A.transpose == Transpose::yes) {
    with_b(Matrix<false>{A.data, A.leading, M, K});
  } else {
    with_b(Matrix<true>{A.data, A.leading, M, K});
  }
}

}  // namespace lathe::kernels
