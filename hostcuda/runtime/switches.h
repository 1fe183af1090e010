// The values behind hostcuda/hostcuda.h.
#pragma once

#include <atomic>
#include <cstdint>

#include "hostcuda/execution/fibers.h"

namespace hostcuda {

struct Switches {
  Switches();  // from the environment
  std::atomic<int> threads;
  std::atomic<int> order;
  std::atomic<uint64_t> order_seed;
  std::atomic<bool> poison_shared, poison_memory, late_async_copies;
  std::atomic<size_t> memory_limit;
  std::atomic<int64_t> fail_allocation, fail_launch;  // counts down; 0: off

  ThreadOrder thread_order() const { return {static_cast<ThreadOrder::Kind>(order.load()), order_seed}; }
  // True once, when the count reaches it.
  static bool due(std::atomic<int64_t>& countdown);
};
Switches& switches();

}  // namespace hostcuda
