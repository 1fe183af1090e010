// Transposition, rung 1: from where it is to where it goes.  out[N, columns, rows] = in[N, rows, columns]ᵀ.
//
// Idea.        A thread takes elements of one column of the input and puts each into its place. Neighbouring
//              lanes read neighbours, and write `rows` elements apart.
// Bytes.       Asked for: an element read and one written. Moved by a warp: 4 sectors of 32 bytes read for 32
//              floats (2 for 16-bit numbers), and 32 written, each for a single element.
// Operations.  None but the conversion.
// Bound.       The memory system: 1/8 of each written sector is of use, unless the cache still holds it when
//              the threads of the next row come to write the rest.
#include "kernels/transpose/tiles.cuh"

namespace lathe::kernels {
namespace {

constexpr int kTile = 32, kRows = 8;  // a block of 32×8 threads takes 32×32 elements
static_assert(kTile % kRows == 0, "threads cover the tile");

template <typename From, typename To>
__global__ void transpose_01_naive(const From* __restrict__ in,  // [matrices, rows, columns]
                                   To* __restrict__ out,         // [matrices, columns, rows]
                                   int64_t rows, int64_t columns, Tiling tiling LATHE_FLAT) {
  const int64_t tile(blockIdx.x), matrix = tiling.matrix(tile) * rows * columns;
  const int64_t column = tiling.first_column(tile) + threadIdx.x;
  const int64_t first_row = tiling.first_row(tile) + threadIdx.y;
  for (int64_t row = first_row; row < first_row + kTile; row += kRows) {
    if (row >= rows || column >= columns) continue;
    out[matrix + column * rows + row] = convert<To>(in[matrix + row * columns + column]);
  }
}

}  // namespace

template <typename From, typename To>
void transpose_naive(const Transposition<From, To>& p, cudaStream_t stream) {
  if (p.matrices * p.rows * p.columns == 0) return;
  const Tiling tiling(p.rows, p.columns, kTile);
  launch_flat<transpose_01_naive<From, To>>(blocks_of(tiling, p), dim3(kTile, kRows), stream, p.in, p.out,
                                            p.rows, p.columns, tiling);
}
LATHE_TRANSPOSE_ALL(transpose_naive);

}  // namespace lathe::kernels
