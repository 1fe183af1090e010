// Transposition, rung 2: through a tile in shared memory.  out[N, columns, rows] = in[N, rows, columns]ᵀ.
//
// Idea.        A block reads a 32×32 tile row by row, waits, and writes it column by column: the turn is made
//              in shared memory, so that lanes that are neighbours read and write neighbours.
// Bytes.       An element read and one written, all of every sector of use. The tile holds floats of any
//              type: an element is one bank wide.
// Operations.  None but the conversion.
// Bound.       Shared memory: a column of the tile lies in a single bank, so that the 32 lanes that read one
//              take turns.
#include "kernels/transpose/tiles.cuh"

namespace lathe::kernels {
namespace {

constexpr int kTile = 32, kRows = 8;  // a block of 32×8 threads takes 32×32 elements
static_assert(kTile % kRows == 0, "threads cover the tile");

template <typename From, typename To>
__global__ void __launch_bounds__(kTile* kRows)
    transpose_02_shared_tile(const From* __restrict__ in,  // [matrices, rows, columns]
                             To* __restrict__ out,         // [matrices, columns, rows]
                             int64_t rows, int64_t columns, Tiling tiling) {
  __shared__ float tile[kTile][kTile];
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
void transpose_shared_tile(const Transposition<From, To>& p, cudaStream_t stream) {
  if (p.matrices * p.rows * p.columns == 0) return;
  const Tiling tiling(p.rows, p.columns, kTile);
  launch<transpose_02_shared_tile<From, To>>(blocks_of(tiling, p), dim3(kTile, kRows), 0, stream, p.in, p.out,
                                             p.rows, p.columns, tiling);
}
LATHE_TRANSPOSE_ALL(transpose_shared_tile);

}  // namespace lathe::kernels
