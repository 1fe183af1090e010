// The scheduler of one block's threads. This file is compiled without ThreadSanitizer: one of its fibers for each
// CUDA thread would cost a megabyte and a millisecond, and the threads of a block share one CPU thread anyway.
//
// A thread runs until it has to wait, then hands over directly to the next thread in order that can run. Threads
// that never wait run one after another on one fiber, with no switch at all.
#include "hostcuda/execution/fibers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <exception>
#include <memory>
#include <numeric>
#include <vector>

#include "hostcuda/execution/stacks.h"

__thread hostcuda::ThreadContext hostcuda_thread;

namespace hostcuda {
namespace {

constexpr int kMaxThreads = 1024, kWarp = 32, kMaxWarps = kMaxThreads / kWarp;

const char* name_of(WarpKind kind) {
  constexpr const char* kNames[] = {"__syncwarp",       "a warp vote",     "__shfl_sync", "__shfl_up_sync",
                                    "__shfl_down_sync", "__shfl_xor_sync", "__activemask"};
  return kNames[static_cast<int>(kind)];
}

// One bit for each thread, by its place in the order of turns.
class TurnSet {
 public:
  void assign(int count) {
    for (int w = 0; w < kWords; ++w) {
      int bits = std::clamp(count - w * 64, 0, 64);
      words_[w] = bits == 64 ? ~0ull : (1ull << bits) - 1;
    }
  }
  void set(int i) { words_[i / 64] |= 1ull << (i % 64); }
  void clear(int i) { words_[i / 64] &= ~(1ull << (i % 64)); }
  // The first member at or after `from`, going round; -1 if there is none.
  int next(unsigned int from) const {
    unsigned int w = from / 64;
    uint64_t word = words_[w] & (~0ull << (from % 64));
    for (int tried = 0; tried <= kWords; ++tried) {
      if (word != 0) return static_cast<int>(w * 64) + std::countr_zero(word);
      w = (w + 1) % kWords;
      word = words_[w];
    }
    return -1;
  }

 private:
  static constexpr int kWords = kMaxThreads / 64;
  std::array<uint64_t, kWords> words_{};
};

struct Failed {};  // unwinds a fiber after Block::fail

enum class State : uint8_t { ready, at_barrier, at_warp_operation, exited };

// One cache line: the scheduler's cost is the lines that it touches for each thread.
struct alignas(64) Thread {
  Fiber* fiber = nullptr;  // null: not started
  uint64_t value = 0;      // what it brings to a warp operation, then what it gets
  Site site{};             // where it waits
  uint3 index{};
  int turn = 0;  // its place in the order of turns
  unsigned int mask = 0;
  uint8_t source = 0;
  State state = State::ready;
  WarpKind kind{};
};
static_assert(sizeof(Thread) == 64);

struct Warp {
  unsigned int live = 0;     // has not returned
  unsigned int waiting = 0;  // at a warp operation
};

struct Barrier {
  int arrived = 0, votes = 0, first = 0, result = 0;
  BarrierKind kind{};
  Site site{};
};

class Block {
 public:
  Block() : arena_(static_cast<char*>(std::aligned_alloc(1024, kArenaBytes)), &std::free) {}

  std::string run(const KernelInfo& kernel, const std::function<void()>& body, int64_t index, ThreadOrder order,
                  bool poison_shared);
  int wait_at_barrier(BarrierKind kind, bool predicate, Site site);
  uint64_t wait_for_warp(WarpKind kind, unsigned int mask, uint64_t value, int source, Site site);
  void* arena() { return arena_.get(); }
  int current() const { return current_; }

 private:
  static constexpr size_t kArenaBytes = 256 * 1024;

  static void fiber_entry(boost::context::detail::transfer_t arrival);
  void run_threads();
  void set_order(ThreadOrder order, int64_t index);
  void resume(int thread);
  int next_thread();
  void thread_exited(int thread);
  void finish_barrier();
  bool try_warp(int warp, int lane);
  bool release_active_masks();
  void check_masks(int warp, int lane);
  void wake(int thread) {
    threads_[thread].state = State::ready;
    ready_.set(threads_[thread].turn);
  }
  // Cold and out of line, which keeps the frames of waiting threads small.
  [[noreturn, gnu::cold, gnu::noinline]] void fail(int thread, const std::string& message);
  [[noreturn, gnu::cold, gnu::noinline]] void fail_divergent(int thread, Site site);
  [[noreturn, gnu::cold, gnu::noinline]] void fail_stuck();
  [[noreturn, gnu::cold, gnu::noinline]] void fail_mask(int thread, int other);
  [[noreturn, gnu::cold, gnu::noinline]] void fail_source(int thread);
  std::string thread_name(int thread) const;
  std::string waits_at(int thread) const;

  std::unique_ptr<char, decltype(&std::free)> arena_;
  Stacks stacks_;
  std::vector<Fiber*> free_fibers_;
  size_t used_fibers_ = 0;
  Fiber main_;

  const KernelInfo* kernel_ = nullptr;
  const std::function<void()>* body_ = nullptr;
  dim3 dim_{0, 0, 0};
  uint3 block_index_{};
  int count_ = 0, live_ = 0, current_ = 0;
  std::array<Thread, kMaxThreads> threads_;
  std::array<int, kMaxThreads> thread_at_{};  // by turn
  std::array<Warp, kMaxWarps> warps_;
  TurnSet ready_;
  Barrier barrier_;
  std::string error_;
};

// The block that runs on this CPU thread; null outside kernels with fibers.
__thread Block* running_block = nullptr;


std::string describe(Site site) { return fmt::format("{}:{}", site.file, site.line); }
std::string describe(uint3 v) { return fmt::format("({},{},{})", v.x, v.y, v.z); }

void Block::set_order(ThreadOrder order, int64_t index) {
  std::iota(thread_at_.begin(), thread_at_.begin() + count_, 0);
  if (order.kind == ThreadOrder::reverse) {
    std::reverse(thread_at_.begin(), thread_at_.begin() + count_);
  } else if (order.kind == ThreadOrder::random) {
    uint64_t state = order.seed * 0x9e3779b97f4a7c15ull + static_cast<uint64_t>(index) + 1;
    for (int i = count_ - 1; i > 0; --i) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;  // xorshift64
      std::swap(thread_at_[i], thread_at_[state % static_cast<uint64_t>(i + 1)]);
    }
  }
  for (int i = 0; i < count_; ++i) threads_[thread_at_[i]].turn = i;
}

std::string Block::run(const KernelInfo& kernel, const std::function<void()>& body, int64_t index,
                       ThreadOrder order, bool poison_shared) {
  kernel_ = &kernel;
  body_ = &body;
  const dim3 dim = kernel.block;
  count_ = static_cast<int>(dim.x * dim.y * dim.z);
  if (dim.x != dim_.x || dim.y != dim_.y || dim.z != dim_.z) {
    dim_ = dim;
    for (unsigned int i = 0; i < static_cast<unsigned int>(count_); ++i) {
      threads_[i].index = {i % dim.x, i / dim.x % dim.y, i / dim.x / dim.y};
    }
  }
  set_order(order, index);
  stacks_.reserve(static_cast<size_t>(count_));
  free_fibers_.clear();
  used_fibers_ = 0;
  live_ = count_;
  ready_.assign(count_);
  barrier_ = {};
  error_.clear();
  for (int i = 0; i < count_; ++i) threads_[i].fiber = nullptr, threads_[i].state = State::ready;
  for (int w = 0; w * kWarp < count_; ++w) {
    int lanes = std::min(kWarp, count_ - w * kWarp);
    warps_[w] = {lanes == kWarp ? ~0u : (1u << lanes) - 1, 0};
  }
  const int64_t gx = kernel.grid.x, gy = kernel.grid.y;
  block_index_ = {unsigned(index % gx), unsigned(index / gx % gy), unsigned(index / gx / gy)};
  hostcuda_thread = {{}, block_index_, kernel.block, kernel.grid};
#ifdef __SANITIZE_ADDRESS__
  ASAN_UNPOISON_MEMORY_REGION(arena_.get(), kArenaBytes);
  ASAN_POISON_MEMORY_REGION(arena_.get() + kernel.shared_bytes, kArenaBytes - kernel.shared_bytes);
#endif
  if (poison_shared) std::memset(arena_.get(), 0xff, kernel.shared_bytes);
  current_ = thread_at_[0];
  threads_[current_].fiber = &stacks_.prepare(used_fibers_++, fiber_entry);
  switch_fiber(main_, *threads_[current_].fiber);
  return std::move(error_);
}

// Never returns: at the end of the block, or at an error, it switches back to the CPU thread's own stack.
void Block::fiber_entry(boost::context::detail::transfer_t arrival) {
  arrive_on_new_fiber(arrival);
  Block& block = *running_block;
  try {
    block.run_threads();
  } catch (const Failed&) {
  }
  switch_fiber(block.stacks_.fiber(0), block.main_, true);
}

// Runs the current thread, then others that have not started yet, on this fiber.
void Block::run_threads() {
  Fiber& fiber = *threads_[current_].fiber;
  for (;;) {
    const int thread = current_;
    threads_[thread].fiber = &fiber;
    ready_.clear(threads_[thread].turn);
    hostcuda_thread.thread = threads_[thread].index;
    try {
      (*body_)();
    } catch (const Failed&) {
      throw;
    } catch (const std::exception& error) {
      fail(thread, std::string("uncaught exception: ") + error.what());
    } catch (...) {
      fail(thread, "uncaught exception");
    }
    thread_exited(thread);
    if (live_ == 0) return;
    current_ = next_thread();
    if (threads_[current_].fiber == nullptr) continue;
    free_fibers_.push_back(&fiber);
    switch_fiber(fiber, *threads_[current_].fiber, true);
  }
}

// The next thread in order that can run.
int Block::next_thread() {
  int turn = ready_.next(threads_[current_].turn);
  if (turn < 0 && release_active_masks()) turn = ready_.next(threads_[current_].turn);
  if (turn < 0) fail_stuck();
  return thread_at_[turn];
}

// Lets others run until this thread is woken.
void Block::resume(int thread) {
  const int next = next_thread();
  Fiber& from = *threads_[thread].fiber;
  current_ = next;
  if (threads_[next].fiber == nullptr) {
    Fiber* fresh = nullptr;
    if (free_fibers_.empty()) {
      fresh = &stacks_.prepare(used_fibers_++, fiber_entry);
    } else {
      fresh = &stacks_.prepare(stacks_.number(*free_fibers_.back()), fiber_entry);
      free_fibers_.pop_back();
    }
    threads_[next].fiber = fresh;
    switch_fiber(from, *fresh);
  } else if (next != thread) {
    switch_fiber(from, *threads_[next].fiber);
  }
  ready_.clear(threads_[thread].turn);
  hostcuda_thread.thread = threads_[thread].index;
}

void Block::thread_exited(int thread) {
  Thread& self = threads_[thread];
  self.state = State::exited;
  self.fiber = nullptr;
  --live_;
  Warp& warp = warps_[thread / kWarp];
  warp.live &= ~(1u << (thread % kWarp));
  for (unsigned int lanes = warp.waiting; lanes != 0; lanes &= lanes - 1) {  // who may have waited for it
    int lane = std::countr_zero(lanes);
    if ((warp.waiting >> lane & 1) != 0) try_warp(thread / kWarp, lane);
  }
  if (live_ > 0 && barrier_.arrived == live_) finish_barrier();
}

int Block::wait_at_barrier(BarrierKind kind, bool predicate, Site site) {
  const int thread = current_;
  Thread& self = threads_[thread];
  if (barrier_.arrived == 0) {
    barrier_.kind = kind, barrier_.site = site, barrier_.first = thread, barrier_.votes = 0;
  } else if (barrier_.kind != kind || barrier_.site != site) {
    fail_divergent(thread, site);
  }
  barrier_.votes += predicate;
  self.state = State::at_barrier;
  self.site = site;
  if (++barrier_.arrived == live_) {
    finish_barrier();
    self.state = State::ready;  // it goes on without a switch
    ready_.clear(threads_[thread].turn);
  } else {
    resume(thread);
  }
  return barrier_.result;
}

void Block::finish_barrier() {
  switch (barrier_.kind) {
    case BarrierKind::sync: barrier_.result = 0; break;
    case BarrierKind::count: barrier_.result = barrier_.votes; break;
    case BarrierKind::all: barrier_.result = barrier_.votes == barrier_.arrived; break;
    case BarrierKind::any: barrier_.result = barrier_.votes > 0; break;
  }
  barrier_.arrived = 0;
  for (int i = 0; i < count_; ++i) {
    if (threads_[i].state == State::at_barrier) wake(i);
  }
}

uint64_t Block::wait_for_warp(WarpKind kind, unsigned int mask, uint64_t value, int source, Site site) {
  const int thread = current_, lane = thread % kWarp;
  Thread& self = threads_[thread];
  self.kind = kind, self.mask = mask, self.value = value, self.source = static_cast<uint8_t>(source), self.site = site;
  if ((mask >> lane & 1) == 0) fail_mask(thread, thread);
  check_masks(thread / kWarp, lane);
  self.state = State::at_warp_operation;
  warps_[thread / kWarp].waiting |= 1u << lane;
  if (kind != WarpKind::active_mask && try_warp(thread / kWarp, lane)) {
    self.state = State::ready;
    ready_.clear(threads_[thread].turn);
  } else {
    resume(thread);
  }
  return self.value;
}

// Two lanes at the same line whose masks disagree about each other cannot both be right.
void Block::check_masks(int warp, int lane) {
  const Thread* lanes = &threads_[warp * kWarp];
  const Thread& self = lanes[lane];
  for (unsigned int others = warps_[warp].waiting; others != 0; others &= others - 1) {
    const int k = std::countr_zero(others);
    const Thread& other = lanes[k];
    if (other.mask == self.mask || other.kind != self.kind || !(other.site == self.site)) continue;
    if ((self.mask >> k & 1) == 0 && (other.mask >> lane & 1) == 0) continue;
    fail_mask(warp * kWarp + lane, warp * kWarp + k);
  }
}

// Completes the operation at which `lane` waits, if all live lanes of its mask have come to it.
bool Block::try_warp(int w, int lane) {
  Warp& warp = warps_[w];
  Thread* lanes = &threads_[w * kWarp];
  const WarpKind kind = lanes[lane].kind;
  const unsigned int mask = lanes[lane].mask, members = mask & warp.live;
  if (kind == WarpKind::active_mask || (warp.waiting & members) != members) return false;
  unsigned int ballot = 0;
  uint64_t values[kWarp];
  for (unsigned int rest = members; rest != 0; rest &= rest - 1) {
    const int k = std::countr_zero(rest);
    if (lanes[k].mask != mask || lanes[k].kind != kind) return false;
    values[k] = lanes[k].value;
    ballot |= static_cast<unsigned int>(lanes[k].value != 0) << k;
  }
  for (unsigned int rest = members; rest != 0; rest &= rest - 1) {
    const int k = std::countr_zero(rest);
    if (kind == WarpKind::sync) continue;
    if (kind == WarpKind::ballot) {
      lanes[k].value = ballot;
      continue;
    }
    const int source = lanes[k].source;
    if ((members >> source & 1) == 0) fail_source(w * kWarp + k);
    lanes[k].value = values[source];
  }
  warp.waiting &= ~members;
  for (unsigned int rest = members; rest != 0; rest &= rest - 1) wake(w * kWarp + std::countr_zero(rest));
  return true;
}

// When nothing else can run, lanes that ask at one line who is active have converged as far as they can.
bool Block::release_active_masks() {
  bool released = false;
  for (int w = 0; w * kWarp < count_; ++w) {
    Thread* lanes = &threads_[w * kWarp];
    for (unsigned int rest = warps_[w].waiting; rest != 0; rest &= rest - 1) {
      const int first = std::countr_zero(rest);
      if (lanes[first].kind != WarpKind::active_mask || lanes[first].state != State::at_warp_operation) continue;
      unsigned int group = 0;
      for (unsigned int others = rest; others != 0; others &= others - 1) {
        const int k = std::countr_zero(others);
        const Thread& other = lanes[k];
        bool same = other.kind == WarpKind::active_mask && other.state == State::at_warp_operation &&
                    other.site == lanes[first].site;
        if (same) group |= 1u << k;
      }
      for (unsigned int others = group; others != 0; others &= others - 1) {
        const int k = std::countr_zero(others);
        lanes[k].value = group;
        wake(w * kWarp + k);
      }
      warps_[w].waiting &= ~group;
      released = true;
    }
  }
  return released;
}

std::string Block::thread_name(int thread) const {
  return fmt::format("kernel {}, block {}, thread {}", kernel_->name, describe(block_index_), describe(threads_[thread].index));
}

std::string Block::waits_at(int thread) const {
  const Thread& t = threads_[thread];
  if (t.state == State::at_barrier) {
    return fmt::format("thread {} waits at __syncthreads ({})", describe(threads_[thread].index), describe(t.site));
  }
  return fmt::format("thread {} waits at {} with mask {:#010x} ({})", describe(threads_[thread].index), name_of(t.kind), t.mask,
                     describe(t.site));
}

// Ends the block: this fiber unwinds, the others are left where they are and their stacks used again.
void Block::fail(int thread, const std::string& message) {
  error_ = thread_name(thread) + ": " + message;
  throw Failed{};
}

void Block::fail_divergent(int thread, Site site) {
  fail(thread, fmt::format("divergent barrier: this thread waits at {}, thread {} at {}", describe(site),
                           describe(threads_[barrier_.first].index), describe(barrier_.site)));
}

void Block::fail_mask(int thread, int other) {
  const Thread &a = threads_[thread], &b = threads_[other];
  const std::string call = fmt::format("{} at {}: mask {:#010x}", name_of(a.kind), describe(a.site), a.mask);
  if (thread == other) fail(thread, fmt::format("{} lacks the calling lane {}", call, thread % kWarp));
  fail(thread, fmt::format("{}, but thread {} of the same warp came with {:#010x}", call, describe(threads_[other].index),
                           b.mask));
}

void Block::fail_source(int thread) {
  const Thread& t = threads_[thread];
  fail(thread, fmt::format("{} at {}: reads lane {}, which {} (mask {:#010x})", name_of(t.kind), describe(t.site),
                           t.source, (t.mask >> t.source & 1) == 0 ? "is not in the mask" : "has returned", t.mask));
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
  fail(first, message);
}

}  // namespace

std::string run_block(const KernelInfo& kernel, const std::function<void()>& thread_body, int64_t block,
                      ThreadOrder order, bool poison_shared) {
  thread_local std::unique_ptr<Block> runner = std::make_unique<Block>();
  running_block = runner.get();
  std::string error = runner->run(kernel, thread_body, block, order, poison_shared);
  running_block = nullptr;
  return error;
}

int block_barrier(BarrierKind kind, bool predicate, Site site) {
  if (running_block == nullptr) throw NotInBlock{site};
  return running_block->wait_at_barrier(kind, predicate, site);
}

uint64_t warp_operation(WarpKind kind, unsigned int mask, uint64_t value, int source, Site site) {
  if (running_block == nullptr) throw NotInBlock{site};
  return running_block->wait_for_warp(kind, mask, value, source, site);
}

int lane_id() { return running_block != nullptr ? running_block->current() % kWarp : 0; }

void* dynamic_shared() {
  if (running_block == nullptr) throw NotInBlock{{"LATHE_DYNAMIC_SHARED", 0}};
  return running_block->arena();
}

}  // namespace hostcuda
