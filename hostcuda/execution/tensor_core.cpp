// See tensor_core.h. g and t are the PTX ISA's group of a lane and its place in the group: lane = 4·g + t.
#include "hostcuda/execution/tensor_core.h"

#include <fmt/format.h>

#include <cstring>

#include "hostcuda/execution/block.h"
#include "hostcuda/execution/float16_tiles.h"
#include "hostcuda/execution/warp_collective.h"

namespace hostcuda {
namespace {

struct Rows {
  uint32_t* registers;
  const void* row;
};

template <int matrices, bool transposed>
const char* load_rows(void* const (&lanes)[32]) {
  for (int j = 0; j < matrices; ++j) {
    uint16_t matrix[8][8];
    for (int r = 0; r < 8; ++r) std::memcpy(matrix[r], static_cast<Rows*>(lanes[8 * j + r])->row, 16);
    for (int lane = 0; lane < 32; ++lane) {
      const int g = lane >> 2, t = lane & 3;
      const uint32_t low = transposed ? matrix[2 * t][g] : matrix[g][2 * t];
      const uint32_t high = transposed ? matrix[2 * t + 1][g] : matrix[g][2 * t + 1];
      static_cast<Rows*>(lanes[lane])->registers[j] = low | high << 16;
    }
  }
  return nullptr;
}

struct Operands {
  float* d;
  const uint32_t* a;
  const uint32_t* b;
};

template <bool bfloat16>
const char* multiply_add(void* const (&lanes)[32]) {
  uint32_t a_codes[16][8], b_codes[8][8];  // pairs along k; B as [n][k]
  alignas(32) float sum[16][8];
  for (int lane = 0; lane < 32; ++lane) {
    const Operands& of = *static_cast<Operands*>(lanes[lane]);
    const int g = lane >> 2, t = lane & 3;
    a_codes[g][t] = of.a[0], a_codes[g + 8][t] = of.a[1];
    a_codes[g][t + 4] = of.a[2], a_codes[g + 8][t + 4] = of.a[3];
    b_codes[g][t] = of.b[0], b_codes[g][t + 4] = of.b[1];
    std::memcpy(&sum[g][2 * t], of.d, 8), std::memcpy(&sum[g + 8][2 * t], of.d + 2, 8);
  }
  alignas(32) float a[16][16], b_columns[8][16], b[16][8];
  decode<bfloat16>(a_codes, a[0], 256);
  decode<bfloat16>(b_codes, b_columns[0], 128);
  for (int k = 0; k < 16; ++k) {
    for (int n = 0; n < 8; ++n) b[k][n] = b_columns[n][k];
  }
  add_product(a, b, sum);
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane >> 2, t = lane & 3;
    float* d = static_cast<Operands*>(lanes[lane])->d;
    std::memcpy(d, &sum[g][2 * t], 8), std::memcpy(d + 2, &sum[g + 8][2 * t], 8);
  }
  return nullptr;
}

}  // namespace

template <int matrices, bool transposed>
void load_matrices(uint32_t* registers, const void* row, Site site) {
  static constexpr WarpCollective kOperation{"ldmatrix", load_rows<matrices, transposed>};
  if (running_block == nullptr) throw NotInBlock{site};
  if (running_block->current() % 32 < 8 * matrices) {
    if (reinterpret_cast<uintptr_t>(row) % 16 != 0) {
      running_block->fail_here(Failure::wrong_access, site,
                               fmt::format("ldmatrix at {}:{}: the row address {:#x} is not a multiple of 16",
                                           site.file, site.line, reinterpret_cast<uintptr_t>(row)));
    }
    if (observer != nullptr) observer->access(__builtin_return_address(0), row, 16, Access::read);
  }
  Rows rows{registers, row};
  warp_collective(kOperation, &rows, site);
}
template void load_matrices<1, false>(uint32_t*, const void*, Site);
template void load_matrices<1, true>(uint32_t*, const void*, Site);
template void load_matrices<2, false>(uint32_t*, const void*, Site);
template void load_matrices<2, true>(uint32_t*, const void*, Site);
template void load_matrices<4, false>(uint32_t*, const void*, Site);
template void load_matrices<4, true>(uint32_t*, const void*, Site);

template <bool bfloat16>
void multiply_add_16x8x16(float* d, const uint32_t* a, const uint32_t* b, Site site) {
  static constexpr WarpCollective kOperation{"mma", multiply_add<bfloat16>};
  Operands operands{d, a, b};
  warp_collective(kOperation, &operands, site);
}
template void multiply_add_16x8x16<false>(float*, const uint32_t*, const uint32_t*, Site);
template void multiply_add_16x8x16<true>(float*, const uint32_t*, const uint32_t*, Site);

}  // namespace hostcuda
