// What a block says of a wrong kernel: which thread, where it waits, and why that cannot be right.
#include <fmt/format.h>

#include "hostcuda/execution/block.h"

namespace hostcuda {
namespace {

const char* operation_of(const Thread& t) {
  constexpr const char* kNames[] = {"__syncwarp",       "a warp vote",     "__shfl_sync", "__shfl_up_sync",
                                    "__shfl_down_sync", "__shfl_xor_sync", "__activemask"};
  if (t.kind == WarpKind::collective) return reinterpret_cast<Contribution*>(t.value)->operation->name;
  return kNames[static_cast<int>(t.kind)];
}

std::string describe(Site site) { return fmt::format("{}:{}", site.file, site.line); }
std::string describe(uint3 v) { return fmt::format("({},{},{})", v.x, v.y, v.z); }

}  // namespace

std::string Block::thread_name(int thread) const {
  return fmt::format("kernel {}, block {}, thread {}", kernel_->name, describe(block_index_),
                     describe(threads_[thread].index));
}

std::string Block::waits_at(int thread) const {
  const Thread& t = threads_[thread];
  if (t.state == State::at_barrier) {
    return fmt::format("thread {} waits at __syncthreads ({})", describe(threads_[thread].index),
                       describe(t.site));
  }
  return fmt::format("thread {} waits at {} with mask {:#010x} ({})", describe(threads_[thread].index),
                     operation_of(t), t.mask, describe(t.site));
}

// Ends the block: this fiber unwinds, the others are left where they are and their stacks used again.
void Block::fail(Failure kind, int thread, Site site, const std::string& message) {
  error_ = thread_name(thread) + ": " + message;
  if (observer != nullptr) observer->fails(kind, thread, site, message);
  throw Failed{};
}

void Block::fail_here(Failure kind, Site site, const std::string& message) {
  fail(kind, current_, site, message);
}

void Block::abandon(Failure kind, const std::string& message) {
  if (observer != nullptr) observer->thread_ends();
  error_ = thread_name(current_) + ": " + message;
  if (observer != nullptr) observer->fails(kind, current_, {"", 0}, message);
  switch_fiber(*threads_[current_].fiber, main_, true);
  std::abort();  // nobody resumes an abandoned fiber
}

void Block::fail_divergent(int thread, Site site) {
  fail(Failure::divergent_barrier, thread, site,
       fmt::format("divergent barrier: this thread waits at {}, thread {} at {}", describe(site),
                   describe(threads_[barrier_.first].index), describe(barrier_.site)));
}

void Block::fail_mask(int thread, int other) {
  const Thread &a = threads_[thread], &b = threads_[other];
  const std::string call = fmt::format("{} at {}: mask {:#010x}", operation_of(a), describe(a.site), a.mask);
  if (thread == other)
    fail(Failure::wrong_warp_operation, thread, a.site,
         fmt::format("{} lacks the calling lane {}", call, thread % kWarp));
  fail(Failure::wrong_warp_operation, thread, a.site,
       fmt::format("{}, but thread {} of the same warp came with {:#010x}", call,
                   describe(threads_[other].index), b.mask));
}

void Block::fail_source(int thread) {
  const Thread& t = threads_[thread];
  fail(Failure::wrong_warp_operation, thread, t.site,
       fmt::format("{} at {}: reads lane {}, which {} (mask {:#010x})", operation_of(t), describe(t.site),
                   t.source, (t.mask >> t.source & 1) == 0 ? "is not in the mask" : "has returned", t.mask));
}

void Block::fail_collective(int thread, const std::string& message) {
  const Thread& t = threads_[thread];
  fail(Failure::wrong_warp_operation, thread, t.site,
       fmt::format("{} at {}: {}", operation_of(t), describe(t.site), message));
}

void Block::fail_stuck() {
  std::string message = "deadlock: ";
  int first = -1, told = 0;
  const Thread* last = nullptr;
  for (int i = 0; i < count_; ++i) {
    const Thread& t = threads_[i];
    if (t.state == State::exited) continue;
    if (first < 0) first = i;
    bool same = last != nullptr && last->state == t.state && last->site == t.site && last->mask == t.mask;
    last = &t;
    if (same) continue;
    if (told++ == 4) {
      message += "; …";
      break;
    }
    message += (told > 1 ? "; " : "") + waits_at(i);
  }
  const Thread& t = threads_[first];
  fail(t.state == State::at_barrier ? Failure::divergent_barrier : Failure::wrong_warp_operation, first,
       t.site, message);
}

}  // namespace hostcuda
