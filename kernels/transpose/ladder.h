// The transposition ladder: matrices turned over, and converted on the way; each rung in its own file.
//
// Between layouts of pictures: NCHW → NHWC is N matrices of C rows and H·W columns, and back they have H·W
// rows and C columns. From and To are any of float, __half and __nv_bfloat16. Every rung takes any extents
// and any alignment of an element.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace lathe::kernels {

// out[matrix, column, row] = in[matrix, row, column], rounded to nearest even. They do not overlap.
template <typename From, typename To>
struct Transposition {
  const From* in;  // [matrices, rows, columns]
  To* out;         // [matrices, columns, rows]
  int64_t matrices, rows, columns;
};

template <typename From, typename To>
void transpose_naive(const Transposition<From, To>& problem, cudaStream_t stream);  // 01
template <typename From, typename To>
void transpose_shared_tile(const Transposition<From, To>& problem, cudaStream_t stream);  // 02
template <typename From, typename To>
void transpose_padded(const Transposition<From, To>& problem, cudaStream_t stream);  // 03
template <typename From, typename To>
void transpose_swizzled(const Transposition<From, To>& problem, cudaStream_t stream);  // 04
template <typename From, typename To>
void transpose_vectorised(const Transposition<From, To>& problem, cudaStream_t stream);  // 05

}  // namespace lathe::kernels
