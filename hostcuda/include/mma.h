// CUDA's nvcuda::wmma on a CPU: 16×16×16 products of fp16 or bf16 that add in fp32. Which elements of a
// fragment a lane holds is unspecified, and deliberately no GPU's: x[i] is for what is done to every element
// alike. A fragment's matrix begins at a multiple of 32 bytes, and its leading dimension is a multiple of 8
// (16-bit) or 4 (fp32) elements; both are checked.
#pragma once

#include <type_traits>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"
#include "hostcuda/execution/wmma.h"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };

template <typename Use, int m, int n, int k, typename T, typename Layout = void>
struct fragment;  // only those below

template <typename T, int count>
struct hostcuda_elements {
  static constexpr int num_elements = count;
  T x[count];
};
template <typename Layout>
struct fragment<matrix_a, 16, 16, 16, __half, Layout> : hostcuda_elements<__half, 16> {};
template <typename Layout>
struct fragment<matrix_b, 16, 16, 16, __half, Layout> : hostcuda_elements<__half, 16> {};
template <typename Layout>
struct fragment<matrix_a, 16, 16, 16, __nv_bfloat16, Layout> : hostcuda_elements<__nv_bfloat16, 8> {};
template <typename Layout>
struct fragment<matrix_b, 16, 16, 16, __nv_bfloat16, Layout> : hostcuda_elements<__nv_bfloat16, 8> {};
template <>
struct fragment<accumulator, 16, 16, 16, float> : hostcuda_elements<float, 8> {};

template <typename Use, typename T, typename Layout>
using hostcuda_fragment = fragment<Use, 16, 16, 16, T, Layout>;
using hostcuda_accumulator = fragment<accumulator, 16, 16, 16, float>;

#define HOSTCUDA_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

template <typename Use, typename T, typename Layout>
void fill_fragment(hostcuda_fragment<Use, T, Layout>& f, const std::type_identity_t<T>& value) {
  for (T& element : f.x) element = value;
}

template <typename Use, typename T, typename Layout>
__forceinline__ void load_matrix_sync(hostcuda_fragment<Use, T, Layout>& f, const T* matrix,
                                      unsigned int leading, HOSTCUDA_SITE) {
  static_assert(std::is_same_v<Layout, row_major> || std::is_same_v<Layout, col_major>);
  constexpr auto kUse = std::is_same_v<Use, matrix_a> ? hostcuda::FragmentUse::a : hostcuda::FragmentUse::b;
  hostcuda::FragmentTransfer transfer{kUse,
                                      f.num_elements,
                                      sizeof(T),
                                      f.x,
                                      const_cast<T*>(matrix),
                                      leading,
                                      std::is_same_v<Layout, col_major>};
  hostcuda::check_transfer(transfer, false, {file, line});
  hostcuda::warp_collective(hostcuda::kLoadFragment<uint16_t>, &transfer, {file, line});
}
__forceinline__ void load_matrix_sync(hostcuda_accumulator& f, const float* matrix, unsigned int leading,
                                      layout_t layout, HOSTCUDA_SITE) {
  hostcuda::FragmentTransfer transfer{
      hostcuda::FragmentUse::accumulator, f.num_elements, sizeof(float),          f.x,
      const_cast<float*>(matrix),         leading,        layout == mem_col_major};
  hostcuda::check_transfer(transfer, false, {file, line});
  hostcuda::warp_collective(hostcuda::kLoadFragment<float>, &transfer, {file, line});
}
__forceinline__ void store_matrix_sync(float* matrix, const hostcuda_accumulator& f, unsigned int leading,
                                       layout_t layout, HOSTCUDA_SITE) {
  hostcuda::FragmentTransfer transfer{hostcuda::FragmentUse::accumulator,
                                      f.num_elements,
                                      sizeof(float),
                                      const_cast<float*>(f.x),
                                      matrix,
                                      leading,
                                      layout == mem_col_major};
  hostcuda::check_transfer(transfer, true, {file, line});
  hostcuda::warp_collective(hostcuda::kStoreFragment<float>, &transfer, {file, line});
}

template <typename T, typename ALayout, typename BLayout>
__forceinline__ void mma_sync(hostcuda_accumulator& d, const hostcuda_fragment<matrix_a, T, ALayout>& a,
                              const hostcuda_fragment<matrix_b, T, BLayout>& b, const hostcuda_accumulator& c,
                              HOSTCUDA_SITE) {
  hostcuda::FragmentOperands operands{d.x, a.x, b.x, c.x};
  hostcuda::warp_collective(hostcuda::kMultiplyAddFragments<std::is_same_v<T, __nv_bfloat16>>, &operands,
                            {file, line});
}
#undef HOSTCUDA_SITE

}  // namespace nvcuda::wmma
