// Fibers' stacks and the switch between them. Under AddressSanitizer each switch is announced.
#pragma once

#include <cstddef>
#include <vector>

#include "cuda_runtime.h"
#include "hostcuda/execution/switch_stack.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace hostcuda {

struct Fiber {
  // The lowest address is stack_top − kStackBytes; null: the CPU thread's own stack.
  char* stack_top = nullptr;
  const void* known_bottom = nullptr;  // the own stack's extent, as the sanitizer told
  size_t known_size = 0;
  void* fake_stack = nullptr;
};

#ifdef __SANITIZE_ADDRESS__
constexpr size_t kStackBytes = 256 * 1024;
#else
constexpr size_t kStackBytes = 64 * 1024;
#endif

// Address space for the stacks of the largest block so far, with a guard page below each. Pages are touched
// only as stacks are used. Tops are staggered by 320 bytes: at equal offsets all stacks compete for the same
// cache sets, which halves the speed.
class Stacks {
 public:
  Stacks() = default;
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  ~Stacks();
  // Fiber number i, ready to be started at `entry` by a switch to the result.
  StackPosition prepare(size_t i, void (*entry)());
  Fiber& fiber(size_t i) { return fibers_[i]; }
  void reserve(size_t count);
  bool holds(const void* address) const {
    return static_cast<size_t>(static_cast<const char*>(address) - memory_) < bytes_;
  }

 private:
  void release();

  char* memory_ = nullptr;
  size_t bytes_ = 0;
  std::vector<Fiber> fibers_;
};

#ifdef __SANITIZE_ADDRESS__
inline thread_local Fiber* previous_fiber = nullptr;
#endif

// Leaves `from`, noting where, for `to`; returns when somebody switches back. With `finished` nobody will.
inline __attribute__((always_inline)) void switch_fiber([[maybe_unused]] Fiber& from, StackPosition* left_at,
                                                        [[maybe_unused]] Fiber& to, StackPosition at,
                                                        [[maybe_unused]] bool finished = false) {
#ifdef __SANITIZE_ADDRESS__
  const void* bottom = to.stack_top != nullptr ? to.stack_top - kStackBytes : to.known_bottom;
  __sanitizer_start_switch_fiber(finished ? nullptr : &from.fake_stack, bottom,
                                 to.stack_top != nullptr ? kStackBytes : to.known_size);
  previous_fiber = &from;
#endif
  switch_stack(left_at, at);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

// To be called first on a new fiber: under AddressSanitizer the CPU thread's own stack is described by it.
inline void arrive_on_new_fiber() {
#ifdef __SANITIZE_ADDRESS__
  const void* bottom = nullptr;
  size_t size = 0;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
  if (previous_fiber->stack_top == nullptr) {
    previous_fiber->known_bottom = bottom;
    previous_fiber->known_size = size;
  }
#endif
}

}  // namespace hostcuda
