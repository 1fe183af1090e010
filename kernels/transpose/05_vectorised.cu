// Transposition, rung 5: four elements at a time.  out[N, columns, rows] = in[N, rows, columns]ᵀ.
//
// Idea.        Rung 3 with a quarter of the memory instructions: a thread loads four neighbours of a row and
//              stores four neighbours of a column, 16 bytes of floats or 8 of 16-bit numbers. Four such loads
//              are under way at once.
// Bytes.       An element read and one written, all of every sector of use.
// Operations.  None but the conversion.
// Bound.       Memory bandwidth.
// Instructions. LDG.E.128; STG.E.128.
//
// A warp's lanes stand 4 rows × 8 groups of four, and rows of the tile are 65 elements apart: storing by rows
// and loading by columns both touch 32 banks. Global memory is read or written element by element where its
// rows do not begin at multiples of four elements.
#include "kernels/transpose/tiles.cuh"

namespace lathe::kernels {
namespace {

constexpr int kTile = 64;               // rows and columns of a tile
constexpr int kGroups = 8, kRows = 32;  // a block's threads: groups of four along a row × rows
constexpr int kPitch = kTile + 1;       // a row of the tile
static_assert(kTile % (kGroups * 4) == 0 && kTile % kRows == 0, "threads cover the tile");
static_assert(kGroups == 8 && kPitch % 32 == 1, "4 rows × 8 groups of four, one bank a row: no conflicts");

template <typename T>
struct alignas(4 * sizeof(T)) Four {
  T value[4];
};

// Whether all rows begin where a Four can.
template <typename T>
bool rows_take_four(const T* matrix, int64_t row_length) {
  return reinterpret_cast<uintptr_t>(matrix) % sizeof(Four<T>) == 0 && row_length % 4 == 0;
}

template <typename From, typename To>
__global__ void __launch_bounds__(kGroups* kRows)
    transpose_05_vectorised(const From* __restrict__ in,  // [matrices, rows, columns]
                            To* __restrict__ out,         // [matrices, columns, rows]
                            int64_t rows, int64_t columns, bool wide_in, bool wide_out, Tiling tiling) {
  __shared__ float tile[kTile][kPitch];
  const int64_t matrix = tiling.matrix(blockIdx.x) * rows * columns;
  const int64_t first_row = tiling.first_row(blockIdx.x), first_column = tiling.first_column(blockIdx.x);
  for (int y = threadIdx.y; y < kTile; y += kRows) {
    for (int x = threadIdx.x * 4; x < kTile; x += kGroups * 4) {
      const int64_t row = first_row + y, column = first_column + x;
      if (row >= rows || column >= columns) continue;
      const From* from = in + matrix + row * columns + column;
      Four<From> four = {};
      if (wide_in) {
        four = *reinterpret_cast<const Four<From>*>(from);
      } else {
        for (int i = 0; i < 4 && column + i < columns; ++i) four.value[i] = from[i];
      }
      for (int i = 0; i < 4; ++i) tile[y][x + i] = convert<float>(four.value[i]);
    }
  }
  __syncthreads();
  for (int y = threadIdx.y; y < kTile; y += kRows) {
    for (int x = threadIdx.x * 4; x < kTile; x += kGroups * 4) {
      const int64_t row = first_row + x, column = first_column + y;
      if (row >= rows || column >= columns) continue;
      Four<To> four;
      for (int i = 0; i < 4; ++i) four.value[i] = convert<To>(row + i < rows ? tile[x + i][y] : 0.0f);
      To* to = out + matrix + column * rows + row;
      if (wide_out) {
        *reinterpret_cast<Four<To>*>(to) = four;
      } else {
        for (int i = 0; i < 4 && row + i < rows; ++i) to[i] = four.value[i];
      }
    }
  }
}

}  // namespace

template <typename From, typename To>
void transpose_vectorised(const Transposition<From, To>& p, cudaStream_t stream) {
  if (p.matrices * p.rows * p.columns == 0) return;
  const Tiling tiling(p.rows, p.columns, kTile);
  launch<transpose_05_vectorised<From, To>>(blocks_of(tiling, p), dim3(kGroups, kRows), 0, stream, p.in,
                                            p.out, p.rows, p.columns, rows_take_four(p.in, p.columns),
                                            rows_take_four(p.out, p.rows), tiling);
}
LATHE_TRANSPOSE_ALL(transpose_vectorised);

}  // namespace lathe::kernels
