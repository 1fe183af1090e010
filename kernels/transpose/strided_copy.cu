// A copy between strided boxes.
//
// Idea.   The innermost axis of the output lies along threadIdx.x, so writes are contiguous; a thread finds
//         its row's two offsets by dividing out the outer axes. One kernel for every rearrangement.
// Bytes.  4 read and 4 written an element; a division for each outer axis.
// Bound.  Memory bandwidth where the input's innermost stride is 1, otherwise its partly used sectors.
#include "kernels/transpose/strided_copy.h"

#include "hostcuda/portable/launch.h"
#include "kernels/activation.h"

namespace lathe::kernels {
namespace {

struct Offsets {
  int64_t in, out;
};
__device__ inline Offsets row_offsets(int64_t row, const CopyPlan& plan) {
  Offsets offsets{0, 0};
  for (int axis = plan.rank - 2; axis >= 0; --axis) {
    int64_t i = row % plan.extent[axis];
    row /= plan.extent[axis];
    offsets.in += i * plan.in_stride[axis];
    offsets.out += i * plan.out_stride[axis];
  }
  return offsets;
}

__global__ void strided_copy_kernel(const float* in, float* out, CopyPlan plan, int64_t rows,
                                    int64_t columns LATHE_FLAT) {
  int64_t column = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  int64_t row = (int64_t(blockIdx.z) * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;
  if (row >= rows || column >= columns) return;
  Offsets offsets = row_offsets(row, plan);
  out[offsets.out + column * plan.out_stride[plan.rank - 1]] =
      in[offsets.in + column * plan.in_stride[plan.rank - 1]];
}

}  // namespace

void strided_copy(const float* in, float* out, const CopyPlan& plan, cudaStream_t stream) {
  CopyPlan box = plan;
  if (box.rank == 0) box.rank = 1, box.extent[0] = 1;  // a scalar
  int64_t rows = 1, columns = box.extent[box.rank - 1];
  for (int axis = 0; axis < box.rank - 1; ++axis) rows *= box.extent[axis];
  if (rows * columns == 0) return;
  RowGrid threads = row_grid(rows, columns);
  launch_flat<strided_copy_kernel>(threads.grid, threads.block, stream, in, out, box, rows, columns);
}

}  // namespace lathe::kernels
