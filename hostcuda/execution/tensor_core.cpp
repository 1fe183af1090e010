// See tensor_core.h. g and t are the PTX ISA's group of a lane and its place in the group: lane = 4·g + t.
#include "hostcuda/execution/tensor_core.h"

#include <fmt/format.h>

#include <cstring>

#include "hostcuda/execution/block.h"
#include "hostcuda/execution/float16_tiles.h"

namespace hostcuda {

// The call of warp_collective() follows, for the same line: the next few addresses stand for it too, and tell
// the accesses of one call apart.
void check_rows(const MatrixRows& rows, int matrices, Site site) {
  if (running_block == nullptr) throw NotInBlock{site};
  for (int i = 0; i < rows.count && running_block->current() % 32 < 8 * matrices; ++i) {
    const auto address = reinterpret_cast<uintptr_t>(rows.rows[i]);
    if (address % 16 != 0) {
      running_block->fail_here(Failure::wrong_access, site,
                               fmt::format("ldmatrix at {}:{}: the row address {:#x} is not a multiple of 16",
                                           site.file, site.line, address));
    }
    if (observer != nullptr)
      observer->access(static_cast<const char*>(__builtin_return_address(0)) + i, rows.rows[i], 16,
                       Access::read);
  }
}

template <int matrices, bool transposed>
const char* load_matrices(void* const (&lanes)[32]) {
  const auto of = [&](int lane) -> const MatrixRows& { return *static_cast<const MatrixRows*>(lanes[lane]); };
  for (int i = 0; i < of(0).count; ++i) {
    for (int j = 0; j < matrices; ++j) {
      uint16_t matrix[8][8];
      for (int r = 0; r < 8; ++r) std::memcpy(matrix[r], of(8 * j + r).rows[i], 16);
      for (int lane = 0; lane < 32; ++lane) {
        const int g = lane >> 2, t = lane & 3;
        const uint32_t low = transposed ? matrix[2 * t][g] : matrix[g][2 * t];
        const uint32_t high = transposed ? matrix[2 * t + 1][g] : matrix[g][2 * t + 1];
        of(lane).registers[i * matrices + j] = low | high << 16;
      }
    }
  }
  return nullptr;
}

#define INSTANTIATE(matrices, transposed) \
  template const char* load_matrices<matrices, transposed>(void* const(&lanes)[32])
INSTANTIATE(1, false);
INSTANTIATE(1, true);
INSTANTIATE(2, false);
INSTANTIATE(2, true);
INSTANTIATE(4, false);
INSTANTIATE(4, true);

template <bool bfloat16>
const char* multiply_add(void* const (&lanes)[32]) {
  const auto of = [&](int lane) -> const MmaOperands& {
    return *static_cast<const MmaOperands*>(lanes[lane]);
  };
  const int rows = of(0).rows, columns = of(0).columns;
  alignas(32) float a[16][16], b[kMostColumns][16][8], sum[16][8];
  for (int j = 0; j < columns; ++j) {
    uint16_t codes[16][8];
    for (int lane = 0; lane < 32; ++lane) {
      const uint32_t* registers = of(lane).b + j * 2;
      const int g = lane >> 2, t = lane & 3;
      for (int i = 0; i < 2; ++i) {
        codes[2 * t + 8 * i][g] = static_cast<uint16_t>(registers[i]);
        codes[2 * t + 8 * i + 1][g] = static_cast<uint16_t>(registers[i] >> 16);
      }
    }
    decode<bfloat16>(codes, b[j][0], 128);
  }
  for (int i = 0; i < rows; ++i) {
    uint32_t codes[16][8];  // pairs along k
    for (int lane = 0; lane < 32; ++lane) {
      const uint32_t* registers = of(lane).a + i * 4;
      const int g = lane >> 2, t = lane & 3;
      codes[g][t] = registers[0], codes[g + 8][t] = registers[1];
      codes[g][t + 4] = registers[2], codes[g + 8][t + 4] = registers[3];
    }
    decode<bfloat16>(codes, a[0], 256);
    for (int j = 0; j < columns; ++j) {
      const auto d = [&](int lane) { return of(lane).d + (i * columns + j) * 4; };
      for (int lane = 0; lane < 32; ++lane) {
        const int g = lane >> 2, t = lane & 3;
        std::memcpy(&sum[g][2 * t], d(lane), 8), std::memcpy(&sum[g + 8][2 * t], d(lane) + 2, 8);
      }
      add_product(a, b[j], sum);
      for (int lane = 0; lane < 32; ++lane) {
        const int g = lane >> 2, t = lane & 3;
        std::memcpy(d(lane), &sum[g][2 * t], 8), std::memcpy(d(lane) + 2, &sum[g + 8][2 * t], 8);
      }
    }
  }
  return nullptr;
}

template const char* multiply_add<false>(void* const (&lanes)[32]);
template const char* multiply_add<true>(void* const (&lanes)[32]);

}  // namespace hostcuda
