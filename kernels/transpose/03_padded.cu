// Transposition, rung 3: a tile with a column to spare.  out[N, columns, rows] = in[N, rows, columns]ᵀ.
//
// Idea.        The rows of the tile are 33 elements apart instead of 32. Each begins one bank further, and
//              the 32 elements of a column lie in 32 different banks.
// Bytes.       An element read and one written, all of every sector of use; 128 bytes of shared memory lost.
// Operations.  None but the conversion.
// Bound.       Memory bandwidth, with a load and a store of 4 bytes (or 2) for each thread and element.
#include "kernels/transpose/tiles.cuh"

namespace lathe::kernels {
namespace {

constexpr int kTile = 32, kRows = 8;  // a block of 32×8 threads takes 32×32 elements
static_assert(kTile % kRows == 0, "threads cover the tile");
constexpr int kPitch = kTile + 1;
static_assert(kPitch % 32 == 1, "the next row begins one bank further");

template <typename From, typename To>
__global__ void __launch_bounds__(kTile* kRows)
    transpose_03_padded(const From* __restrict__ in,  // [matrices, rows, columns]
                        To* __restrict__ out,         // [matrices, columns, rows]
                        int64_t rows, int64_t columns, Tiling tiling) {
  __shared__ float tile[kTile][kPitch];
  const int x = threadIdx.x;
  const int64_t matrix = tiling.matrix(blockIdx.x) * rows * columns;
  const int64_t first_row = tiling.first_row(blockIdx.x), first_column = tiling.first_column(blockIdx.x);
  for (int y = threadIdx.y; y < kTile; y += kRows) {
    const int64_t row = first_row + y, column = first_column + x;
    if (row < rows && column < columns) {
      tile[y][x] = convert<float>(in[matrix + row * columns + column]);
    }
  }
  __syncthreads();
  for (int y = threadIdx.y; y < kTile; y += kRows) {
    const int64_t row = first_row + x, column = first_column + y;
    if (row < rows && column < columns) out[matrix + column * rows + row] = convert<To>(tile[x][y]);
  }
}

}  // namespace

template <typename From, typename To>
void transpose_padded(const Transposition<From, To>& p, cudaStream_t stream) {
  if (p.matrices * p.rows * p.columns == 0) return;
  const Tiling tiling(p.rows, p.columns, kTile);
  launch<transpose_03_padded<From, To>>(blocks_of(tiling, p), dim3(kTile, kRows), 0, stream, p.in, p.out,
                                        p.rows, p.columns, tiling);
}
LATHE_TRANSPOSE_ALL(transpose_padded);

}  // namespace lathe::kernels
