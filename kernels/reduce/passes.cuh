// What the rungs of the reduction ladder share: the terms of a sum, and passes until one number is left.
#pragma once

#include <type_traits>
#include <utility>

#include "hostcuda/portable/launch.h"
#include "kernels/reduce/ladder.h"

namespace lathe::kernels {

template <ReduceKind kind, typename T>
__device__ T term(T x) {
  if (kind == ReduceKind::square_sum) return x * x;
  if (kind == ReduceKind::not_finite) return isfinite(x) ? 0 : 1;
  return x;
}

// Calls function(std::integral_constant<ReduceKind, kind>).
template <typename Function>
void with_kind(ReduceKind kind, const Function& function) {
  switch (kind) {
    case ReduceKind::sum:
      return function(std::integral_constant<ReduceKind, ReduceKind::sum>());
    case ReduceKind::square_sum:
      return function(std::integral_constant<ReduceKind, ReduceKind::square_sum>());
    case ReduceKind::not_finite:
      return function(std::integral_constant<ReduceKind, ReduceKind::not_finite>());
  }
}

// pass(kind, blocks, x, n, sums) has to launch a grid that adds up x: [n] to sums: [blocks], block by block.
// First with the terms of the problem, then with the sums themselves, back and forth in the workspace.
template <typename Pass>
void reduce_in_passes(const Reduce& p, int elements_a_block, const Pass& pass) {
  float* sums = static_cast<float*>(p.workspace);
  float* other = sums + blocks_for(p.n, elements_a_block);
  unsigned int blocks = blocks_for(p.n, elements_a_block);
  with_kind(p.kind, [&](auto kind) { pass(kind, blocks, p.x, p.n, blocks == 1 ? p.result : sums); });
  while (blocks > 1) {
    const int64_t n = blocks;
    blocks = blocks_for(n, elements_a_block);
    pass(std::integral_constant<ReduceKind, ReduceKind::sum>(), blocks, sums, n,
         blocks == 1 ? p.result : other);
    std::swap(sums, other);
  }
}

}  // namespace lathe::kernels
