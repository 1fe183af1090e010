// The GEMM ladder: C[M,N] = A[M,K] · B[K,N], all row-major, each rung in its own file.
//
// Every rung takes any M, N, K ≥ 1, any leading dimension, any alignment of an element, and adds in fp32, in
// the order of k. Rungs 1 to 8 are fp32; 8 also multiplies transposed matrices, as the engine's linear layers
// need. 9 and 10 multiply 16-bit numbers on tensor cores and can add a bias and clamp at zero on the way out.
// What a rung does not take it refuses before it launches anything. Where an architecture lacks an instruction
// (cp.async and bf16 before sm_80), the head of the file says what runs instead.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace lathe::kernels {

enum class Transpose { no, yes };

// C is rows of N elements, ldc apart, and overlaps neither input. What lies between its rows is not touched.
template <typename T>
struct Gemm {
  const T* A;  // [M,K], rows lda apart; transposed: [K,M]
  int64_t lda;
  const T* B;  // [K,N], rows ldb apart; transposed: [N,K]
  int64_t ldb;
  T* C;  // [M,N], rows ldc apart
  int64_t ldc;
  int64_t M, N, K;
  const T* bias = nullptr;  // [N], added to every row; rungs 9 and 10
  bool relu = false;        // max(0, ·) after the bias, NaN stays; rungs 9 and 10
  Transpose transpose_a = Transpose::no, transpose_b = Transpose::no;  // rung 8
};

void gemm_naive(const Gemm<float>& problem, cudaStream_t stream);                  // 01
void gemm_coalesced(const Gemm<float>& problem, cudaStream_t stream);              // 02
void gemm_shared_tile(const Gemm<float>& problem, cudaStream_t stream);            // 03
void gemm_register_tile_1d(const Gemm<float>& problem, cudaStream_t stream);       // 04
void gemm_register_tile_2d(const Gemm<float>& problem, cudaStream_t stream);       // 05
void gemm_vectorised(const Gemm<float>& problem, cudaStream_t stream);             // 06
void gemm_warp_tile(const Gemm<float>& problem, cudaStream_t stream);              // 07
void gemm_double_buffered(const Gemm<float>& problem, cudaStream_t stream);        // 08
void gemm_wmma(const Gemm<__half>& problem, cudaStream_t stream);                  // 09
void gemm_wmma(const Gemm<__nv_bfloat16>& problem, cudaStream_t stream);           // 09
void gemm_mma_pipelined(const Gemm<__half>& problem, cudaStream_t stream);         // 10
void gemm_mma_pipelined(const Gemm<__nv_bfloat16>& problem, cudaStream_t stream);  // 10

}  // namespace lathe::kernels
