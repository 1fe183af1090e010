// Static memory planning: an offset in one arena for every buffer of a scheduled graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace lathe {

inline constexpr int64_t kArenaAlignment =
    256;  // bytes; what cudaMalloc guarantees and vendor libraries expect

// A buffer that is live in the half-open interval [first, last) of schedule steps.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0, last = 0;
};

struct Packing {
  std::vector<int64_t> offsets;  // one a lifetime, aligned
  int64_t peak = 0;              // bytes
};

// Largest sum of aligned sizes that are live at one step: no packing can need less.
int64_t lower_bound(const std::vector<Lifetime>& lifetimes);
// Greedy by size: the largest buffer first, each at the lowest offset that no overlapping lifetime uses.
Packing pack_greedy(const std::vector<Lifetime>& lifetimes);
// A buffer for each lifetime and no reuse.
Packing pack_naive(const std::vector<Lifetime>& lifetimes);
// Throws std::logic_error where two lifetimes that overlap share bytes.
void check_packing(const std::vector<Lifetime>& lifetimes, const Packing& packing);

struct MemoryPlan {
  std::vector<int>
      owner_of_value;  // the value whose bytes it shares (views, updates, in place); often itself
  std::vector<int> buffer_of_value;    // index into lifetimes; -1 for values outside the arena
  std::vector<int> workspace_of_step;  // index into lifetimes, -1 where a step has none
  std::vector<Lifetime> lifetimes;
  Packing packing;
  int64_t bound = 0;  // lower_bound(lifetimes)
  double ratio() const {
    return bound == 0 ? 1.0 : static_cast<double>(packing.peak) / static_cast<double>(bound);
  }
};
std::string describe(
    const MemoryPlan& plan);  // "arena 1.22 GiB, lower bound 1.22 GiB, ratio 1.00, 310 buffers"

// `schedule`: node ids in running order; `workspaces`: bytes a step. `reuse`: give dead buffers to later
// values.
MemoryPlan plan_memory(const Graph& graph, const std::vector<int>& schedule,
                       const std::vector<int64_t>& workspaces, bool reuse);

}  // namespace lathe
