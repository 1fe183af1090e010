// Fibers' stacks and the switch between them. Under AddressSanitizer each switch is announced.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <vector>

#include "cuda_runtime.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace hostcuda {

struct alignas(64) Fiber {
  boost::context::detail::fcontext_t context = nullptr;
  char* stack_top =
      nullptr;  // the lowest address is stack_top - kStackBytes; null: the CPU thread's own stack
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
  // Fiber number i, ready to be started at `entry`.
  Fiber& prepare(size_t i, void (*entry)(boost::context::detail::transfer_t));
  Fiber& fiber(size_t i) { return fibers_[i]; }
  void reserve(size_t count);
  bool holds(const void* address) const {
    return static_cast<size_t>(static_cast<const char*>(address) - memory_) < bytes_;
  }
  size_t number(const Fiber& fiber) const { return static_cast<size_t>(&fiber - fibers_.data()); }

 private:
  char* memory_ = nullptr;
  size_t bytes_ = 0;
  std::vector<Fiber> fibers_;
};

// Leaves `from` for `to`, and returns when somebody switches back to `from`. With `finished` nobody will.
inline void switch_fiber(Fiber& from, Fiber& to, [[maybe_unused]] bool finished = false) {
#ifdef __SANITIZE_ADDRESS__
  const void* bottom = to.stack_top != nullptr ? to.stack_top - kStackBytes : to.known_bottom;
  __sanitizer_start_switch_fiber(finished ? nullptr : &from.fake_stack, bottom,
                                 to.stack_top != nullptr ? kStackBytes : to.known_size);
#endif
  boost::context::detail::transfer_t arrival = boost::context::detail::jump_fcontext(to.context, &from);
  Fiber& previous = *static_cast<Fiber*>(arrival.data);
  previous.context = arrival.fctx;
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

// To be called first on a new fiber: notes where the previous fiber stopped.
inline void arrive_on_new_fiber(boost::context::detail::transfer_t arrival) {
  Fiber& previous = *static_cast<Fiber*>(arrival.data);
  previous.context = arrival.fctx;
#ifdef __SANITIZE_ADDRESS__
  const void* bottom = nullptr;
  size_t size = 0;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
  if (previous.stack_top == nullptr) {
    previous.known_bottom = bottom;
    previous.known_size = size;
  }
#endif
}

}  // namespace hostcuda
