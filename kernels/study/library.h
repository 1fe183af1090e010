// A vendor's library on a rung's problem, for lathe kernels time to compare with: cuBLASLt in the cuda build, none
// in the host build, whose times say nothing of a GPU.
#pragma once

#include "kernels/study/study.h"

namespace lathe::study {

// As kernels::Gemm, in one element type for all matrices; adds in fp32 (without TF32).
struct LibraryGemm {
  Element element;
  int64_t M, N, K;
  int64_t lda, ldb, ldc;
  bool transpose_a, transpose_b;
  bool epilogue;  // bias and ReLU
};

// The launch of its pointers A, B, C, bias; empty where this build has no library. The first launch chooses the
// algorithm. Throws std::runtime_error with the library's words.
std::function<void(std::span<void* const>, cudaStream_t)> library_gemm(const LibraryGemm& problem);

}  // namespace lathe::study
