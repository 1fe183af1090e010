// General matrix multiplication, fp32.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lathe::kernels {

enum class Transpose { no, yes };

// A row-major matrix whose rows are `leading` elements apart, used as it is or transposed.
struct MatrixOperand {
  const float* data;
  int64_t leading;
  Transpose transpose = Transpose::no;
};

// C[M,N] = op(A)[M,K] · op(B)[K,N].  C is row-major with rows `ldc` apart and overlaps neither input.
// M, N, K ≥ 1. Sums run over K in order, so that a result depends on nothing but its operands.
void gemm(const MatrixOperand& A, const MatrixOperand& B, float* C, int64_t ldc, int64_t M, int64_t N,
          int64_t K, cudaStream_t stream);

}  // namespace lathe::kernels
