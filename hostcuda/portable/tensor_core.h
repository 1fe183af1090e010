// The tensor cores' own instructions, for nvcc and for g++ with hostcuda: ldmatrix (sm_75) and
// mma.m16n8k16 (sm_80), on fp16 and bf16, adding in fp32. All 32 lanes of a warp call them together.
//
// With g = lane / 4 and t = lane % 4, a lane holds of mma_m16n8k16's operands, two numbers a register, the
// one of the lower column (A) or row (B) in the lower half:
//   a[0]: A[g][2t, 2t+1]    a[1]: A[g+8][2t, 2t+1]    a[2]: A[g][2t+8, 2t+9]    a[3]: A[g+8][2t+8, 2t+9]
//   b[0]: B[2t, 2t+1][g]    b[1]: B[2t+8, 2t+9][g]
//   d[0], d[1]: D[g][2t, 2t+1]    d[2], d[3]: D[g+8][2t, 2t+1]
//
// ldmatrix reads 8×8 matrices of 16-bit numbers from shared memory. Lanes 8j … 8j+7 bring the addresses of
// the rows of matrix j, 16 bytes each and multiples of 16; registers[j] gets its row g, columns 2t and 2t+1,
// or with _trans its column g, rows 2t and 2t+1. So, each lane bringing &tile[lane % 16][lane / 16 * 8],
//   ldmatrix_x4         of 16 rows of A stored [m][k]    gives a[0 … 3]
//   ldmatrix_x4_trans   of 16 rows of B stored [k][n]    gives b[0], b[1] of columns 0–7 and of columns 8–15
//
// Both take arrays of operands too: what follows in the kernel is a loop over them, but on a CPU the warp
// meets once for all, which is where its time goes.
//   ldmatrix_x4(a, [&](int i) { return &tile[16 * i + lane % 16][lane / 16 * 8]; });    // uint32_t
//   a[rows][4] mma_m16n8k16<T>(d, a, b);    // d[i][2j], d[i][2j+1] += a[i] · b[j], b as ldmatrix_x4_trans
//   gives it
//
// fp16 runs on sm_75 too, as two mma.m16n8k8. bf16 does not exist there: the kernel traps, and a launcher
// refuses before (kTensorCoresTake says it in device code).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#ifdef __CUDACC__

namespace lathe {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
template <typename T>
constexpr bool kTensorCoresTake = std::is_same_v<T, __half>;
#else
template <typename T>
constexpr bool kTensorCoresTake = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;
#endif

#define LATHE_LDMATRIX(transposed, qualifier)                                                         \
  __device__ __forceinline__ void ldmatrix_x1##transposed(uint32_t(&registers)[1], const void* row) { \
    asm volatile("ldmatrix.sync.aligned.m8n8.x1" qualifier ".shared.b16 {%0}, [%1];"                  \
                 : "=r"(registers[0])                                                                 \
                 : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))                          \
                 : "memory");                                                                         \
  }                                                                                                   \
  __device__ __forceinline__ void ldmatrix_x2##transposed(uint32_t(&registers)[2], const void* row) { \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2" qualifier ".shared.b16 {%0, %1}, [%2];"              \
                 : "=r"(registers[0]), "=r"(registers[1])                                             \
                 : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))                          \
                 : "memory");                                                                         \
  }                                                                                                   \
  __device__ __forceinline__ void ldmatrix_x4##transposed(uint32_t(&registers)[4], const void* row) { \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" qualifier ".shared.b16 {%0, %1, %2, %3}, [%4];"      \
                 : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])     \
                 : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))                          \
                 : "memory");                                                                         \
  }
LATHE_LDMATRIX(, "")
LATHE_LDMATRIX(_trans, ".trans")
#undef LATHE_LDMATRIX

// d += a · b, of T = __half or __nv_bfloat16.
template <typename T>
__device__ __forceinline__ void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  static_assert(std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>);
#if __CUDA_ARCH__ >= 800
#define LATHE_MMA(types)                                                          \
  asm volatile("mma.sync.aligned.m16n8k16.row.col." types                         \
               " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                   \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
  if constexpr (std::is_same_v<T, __half>) {
    LATHE_MMA("f32.f16.f16.f32");
  } else {
    LATHE_MMA("f32.bf16.bf16.f32");
  }
#undef LATHE_MMA
#else
  if constexpr (std::is_same_v<T, __half>) {
    for (int half = 0; half < 2; ++half) {
      asm volatile(
          "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
          " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "r"(a[2 * half]), "r"(a[2 * half + 1]), "r"(b[half]));
    }
  } else {
    __trap();
  }
#endif
}

template <int count, typename RowOf>
__device__ __forceinline__ void ldmatrix_x4(uint32_t (&registers)[count][4], RowOf row) {
#pragma unroll
  for (int i = 0; i < count; ++i) ldmatrix_x4(registers[i], row(i));
}
template <int count, typename RowOf>
__device__ __forceinline__ void ldmatrix_x4_trans(uint32_t (&registers)[count][4], RowOf row) {
#pragma unroll
  for (int i = 0; i < count; ++i) ldmatrix_x4_trans(registers[i], row(i));
}

template <typename T, int rows, int pairs>
__device__ __forceinline__ void mma_m16n8k16(float (&d)[rows][2 * pairs][4], const uint32_t (&a)[rows][4],
                                             const uint32_t (&b)[pairs][4]) {
#pragma unroll
  for (int i = 0; i < rows; ++i) {
#pragma unroll
    for (int j = 0; j < 2 * pairs; ++j) {
      const uint32_t column[2] = {b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]};
      mma_m16n8k16<T>(d[i][j], a[i], column);
    }
  }
}

}  // namespace lathe

#else

#include "hostcuda/execution/tensor_core.h"

namespace lathe {

template <typename T>
constexpr bool kTensorCoresTake = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;

// Inlined always: a tracer is given the address of the call in the kernel.
#define LATHE_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()
template <int matrices, bool transposed>
__forceinline__ void load_matrices(uint32_t* registers, const void* const* rows, int count, LATHE_SITE) {
  hostcuda::MatrixRows brought{registers, rows, count};
  hostcuda::check_rows(brought, matrices, {file, line});
  hostcuda::warp_collective(hostcuda::kLoadMatrices<matrices, transposed>, &brought, {file, line});
}
#define LATHE_LDMATRIX(matrices, suffix, transposed)                                                 \
  __forceinline__ void ldmatrix_x##matrices##suffix(uint32_t(&registers)[matrices], const void* row, \
                                                    LATHE_SITE) {                                    \
    load_matrices<matrices, transposed>(registers, &row, 1, file, line);                             \
  }
LATHE_LDMATRIX(1, , false)
LATHE_LDMATRIX(1, _trans, true)
LATHE_LDMATRIX(2, , false)
LATHE_LDMATRIX(2, _trans, true)
LATHE_LDMATRIX(4, , false)
LATHE_LDMATRIX(4, _trans, true)
#undef LATHE_LDMATRIX

template <int count, typename RowOf>
__forceinline__ void ldmatrix_x4(uint32_t (&registers)[count][4], RowOf row, LATHE_SITE) {
  const void* rows[count];
  for (int i = 0; i < count; ++i) rows[i] = row(i);
  load_matrices<4, false>(registers[0], rows, count, file, line);
}
template <int count, typename RowOf>
__forceinline__ void ldmatrix_x4_trans(uint32_t (&registers)[count][4], RowOf row, LATHE_SITE) {
  const void* rows[count];
  for (int i = 0; i < count; ++i) rows[i] = row(i);
  load_matrices<4, true>(registers[0], rows, count, file, line);
}

template <typename T>
__forceinline__ void multiply_add(hostcuda::MmaOperands operands, LATHE_SITE) {
  static_assert(kTensorCoresTake<T>);
  hostcuda::warp_collective(hostcuda::kMultiplyAdd<std::is_same_v<T, __nv_bfloat16>>, &operands,
                            {file, line});
}
template <typename T>
__forceinline__ void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], LATHE_SITE) {
  multiply_add<T>({d, a, b, 1, 1}, file, line);
}
template <typename T, int rows, int pairs>
__forceinline__ void mma_m16n8k16(float (&d)[rows][2 * pairs][4], const uint32_t (&a)[rows][4],
                                  const uint32_t (&b)[pairs][4], LATHE_SITE) {
  static_assert(2 * pairs <= hostcuda::kMostColumns);
  multiply_add<T>({d[0][0], a[0], b[0], rows, 2 * pairs}, file, line);
}
#undef LATHE_SITE

}  // namespace lathe
#endif
