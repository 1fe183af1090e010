// The grid of the GEMM rungs that make C in tiles.
#pragma once

#include <string>

#include "hostcuda/portable/launch.h"
#include "kernels/gemm/ladder.h"
#include "kernels/unsupported.h"

namespace lathe::kernels {

// A block for each rows×columns tile of C: x along the columns of C, y along its rows. Throws Unsupported
// where C has more tiles in a row or a column than a grid reaches, or where a matrix is transposed and the
// rung does not take that.
template <typename T>
dim3 tile_grid(const Gemm<T>& problem, int rows, int columns, const char* rung,
               bool takes_transposes = false) {
  const bool transposed = problem.transpose_a == Transpose::yes || problem.transpose_b == Transpose::yes;
  if (transposed && !takes_transposes) {
    throw Unsupported(std::string(rung) +
                      ": transposed matrices are not supported; gemm_double_buffered takes them");
  }
  const int64_t most = int64_t{65535} * (rows < columns ? rows : columns);
  if (problem.M > most || problem.N > most) {
    throw Unsupported(std::string(rung) + ": C has " + std::to_string(problem.M) + " rows and " +
                      std::to_string(problem.N) + " columns, at most " + std::to_string(most) +
                      " of each are supported");
  }
  return dim3(blocks_for(problem.N, columns), blocks_for(problem.M, rows));
}

}  // namespace lathe::kernels
