// The optimizer ladder: one step of SGD with momentum (optimizer.h has the formula) on all tensors of a
// model.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <span>

#include "kernels/optimizer/optimizer.h"

namespace lathe::kernels {

struct SgdTensor {
  float* parameter;       // [n]
  float* buffer;          // [n]; nullptr where momentum is 0
  const float* gradient;  // [n]
  int64_t n;
};

// The rungs give the same bits.
struct Sgd {
  std::span<const SgdTensor> tensors;
  const float* lr;              // one number on the device, as gradient_scale
  const float* gradient_scale;  // NaN: nothing is changed
  SgdOptions options;
  void* table;  // device memory of sgd_table_bytes(), aligned to 8; rung 2
};
int64_t sgd_table_bytes(int64_t tensors);

void sgd_tensor_a_launch(const Sgd& problem, cudaStream_t stream);    // 01
void sgd_all_in_one_launch(const Sgd& problem, cudaStream_t stream);  // 02

}  // namespace lathe::kernels
