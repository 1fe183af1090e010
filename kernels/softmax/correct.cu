// Top-1. One thread a row: it compares each class with the label's, and stops at the first that beats it.
#include "kernels/softmax/correct.h"

#include "hostcuda/portable/launch.h"

namespace lathe::kernels {
namespace {

__global__ void correct_kernel(const float* logits,    // [rows, classes]
                               const int32_t* labels,  // [rows]
                               float* y,               // [rows]
                               int64_t rows, int64_t classes LATHE_FLAT) {
  int64_t n = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (n >= rows) return;
  const float* row = logits + n * classes;
  int64_t label = labels[n];
  bool right = label >= 0 && label < classes;
  for (int64_t k = 0; k < classes && right; ++k) {
    right = k < label ? row[k] < row[label] : row[k] <= row[label];  // false for NaN
  }
  y[n] = right ? 1.0f : 0.0f;
}

}  // namespace

void correct(const float* logits, const int32_t* labels, float* y, int64_t rows, int64_t classes,
             cudaStream_t stream) {
  constexpr int kThreads = 128;
  if (rows > 0)
    launch_flat<correct_kernel>(blocks_for(rows, kThreads), kThreads, stream, logits, labels, y, rows,
                                classes);
}

}  // namespace lathe::kernels
