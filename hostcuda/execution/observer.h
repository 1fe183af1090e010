// What a tracer (hostcuda/trace) is told while kernels run. Programs that do not trace have none, and pay
// one untaken branch at a barrier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "hostcuda/execution/launch.h"

namespace hostcuda {

enum class Access : uint8_t { read, write, atomic };
enum class Failure : uint8_t { divergent_barrier, wrong_warp_operation, wrong_access, exception };

class Block;

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void launch_begins(const KernelInfo& kernel) = 0;
  virtual void launch_ends() = 0;
  virtual void block_begins(Block& threads, const KernelInfo& kernel, uint3 block) = 0;
  virtual void block_ends() = 0;
  // The current thread enters its kernel, or comes back to it from hostcuda: what it accesses from now on is
  // the kernel's.
  virtual void thread_begins() = 0;
  virtual void thread_ends() = 0;
  // The block is given up. `thread` is its number in the block.
  virtual void fails(Failure kind, int thread, Site site, const std::string& message) = 0;
  // Every live thread of the block has arrived, none has left.
  virtual void barrier() = 0;
  // The lanes of `mask` have arrived at __syncwarp, none has left.
  virtual void warp_barrier(int warp, unsigned int mask) = 0;
  // An access that compiled instrumentation does not see, because hostcuda makes it for the current thread:
  // ldmatrix, cp.async. `pc` is the return address of the call in the kernel.
  virtual void access(const void* pc, const void* address, size_t bytes, Access kind) = 0;
  // cp.async: [to, to + bytes) of shared memory belongs to the current thread's unfinished copies …
  virtual void copy_begins(const void* pc, void* to, size_t bytes) = 0;
  // … and now to its finished ones: it may read it, other threads after a barrier.
  virtual void copy_ends(void* to, size_t bytes) = 0;
};

extern Observer* observer;  // null: nobody looks

// While one lives, the current thread is in hostcuda, not in its kernel.
struct RuntimeCall {
  RuntimeCall() {
    if (observer != nullptr) observer->thread_ends();
  }
  ~RuntimeCall() {
    if (observer != nullptr) observer->thread_begins();
  }
  RuntimeCall(const RuntimeCall&) = delete;
  RuntimeCall& operator=(const RuntimeCall&) = delete;
};

}  // namespace hostcuda
