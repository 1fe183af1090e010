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
                     describe(thread_index(thread)));
}

std::string Block::waits_at(int thread) const {
  const Thread& t = threads_[thread];
  if (at_barrier(thread)) {
    return fmt::format("thread {} waits at __syncthreads ({})", describe(thread_index(thread)),
                       describe(barrier_.site));
  }
  return fmt::format("thread {} waits at {} with mask {:#010x} ({})", describe(thread_index(thread)),
                     operation_of(t), t.mask, describe(t.site));
}

// Ends the block: this fiber unwinds, the others are left where they are and their stacks used again.
void Block::fail(Failure kind, int thread, Site site, const std::string& message) {
  error_ = thread_name(thread) + ": " + message;
  if (observer != nullptr) observer->fails(kind, thread, site, message);
  throw Failed{};
}

void Block::fail_here(Failure kind, Site site, const std::string& message) {
  fail(kind, current(), site, message);
}

void Block::abandon(Failure kind, const std::string& message) {
  if (observer != nullptr) observer->thread_ends();
  error_ = thread_name(current()) + ": " + message;
  if (observer != nullptr) observer->fails(kind, current(), {"", 0}, message);
  leave_block();
  std::abort();  // nobody resumes an abandoned fiber
}

void Block::fail_divergent(int thread, Site site) {
  fail(Failure::divergent_barrier, thread, site,
       fmt::format("divergent barrier: this thread waits at {}, thread {} at {}", describe(site),
                   describe(thread_index(barrier_.first)), describe(barrier_.site)));
}

void Block::fail_mask(int thread, int other) {
  const Thread &a = threads_[thread], &b = threads_[other];
  const std::string call = fmt::format("{} at {}: mask {:#010x}", operation_of(a), describe(a.site), a.mask);
  if (thread == other)
    fail(Failure::wrong_warp_operation, thread, a.site,
         fmt::format("{} lacks the calling lane {}", call, thread % kWarp));
  fail(Failure::wrong_warp_operation, thread, a.site,
       fmt::format("{}, but thread {} of the same warp came with {:#010x}", call,
                   describe(thread_index(other)), b.mask));
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
  int first = -1, told = 0, last = -1;
  for (int i = 0; i < count_; ++i) {
    const Thread& t = threads_[i];
    if (t.state == State::exited) continue;
    if (first < 0) first = i;
    const bool same = last >= 0 && at_barrier(last) == at_barrier(i) &&
                      (at_barrier(i) || (threads_[last].site == t.site && threads_[last].mask == t.mask));
    last = i;
    if (same) continue;
    if (told++ == 4) {
      message += "; …";
      break;
    }
    message += (told > 1 ? "; " : "") + waits_at(i);
  }
  fail(at_barrier(first) ? Failure::divergent_barrier : Failure::wrong_warp_operation, first,
       at_barrier(first) ? barrier_.site : threads_[first].site, message);
}

}  // namespace hostcuda
