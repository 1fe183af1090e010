// Runs the threads of one block as fibers, with barriers and warp operations between them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "hostcuda/execution/launch.h"

namespace hostcuda {

// In which order the threads of a block take turns. A program without races gives the same result in each.
// preempt: random, and kernels compiled for tracing change turns at any access.
struct ThreadOrder {
  enum Kind { forward, reverse, random, preempt } kind = forward;
  uint64_t seed = 0;
};

// Runs block number `block` of the grid on this CPU thread. Returns an empty string, or what the kernel did
// wrong.
std::string run_block(const KernelInfo& kernel, const std::function<void()>& thread_body, int64_t block,
                      ThreadOrder order, bool poison_shared);

constexpr size_t kMaxDynamicShared = 227 * 1024;

// Thrown by barriers and warp operations outside a block of fibers.
struct NotInBlock {
  Site site;
};

}  // namespace hostcuda
