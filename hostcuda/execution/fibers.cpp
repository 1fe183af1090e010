// The scheduler of one block's threads. This file is compiled without ThreadSanitizer: one of its fibers for
// each CUDA thread would cost a megabyte and a millisecond, and the threads of a block share one CPU thread
// anyway.
#include "hostcuda/execution/fibers.h"

#include <exception>
#include <numeric>

#include "hostcuda/execution/block.h"
#include "hostcuda/execution/observer.h"

__thread hostcuda::ThreadContext hostcuda_thread;

namespace hostcuda {

__thread Block* running_block = nullptr;
Observer* observer = nullptr;

void Block::set_order(ThreadOrder order, int64_t index) {
  const int count = count_;
  std::iota(turn_of_.begin(), turn_of_.begin() + count, 0);
  if (order.kind == ThreadOrder::reverse) {
    std::reverse(turn_of_.begin(), turn_of_.begin() + count);
  } else if (order.kind != ThreadOrder::forward) {
    uint64_t state = order.seed * 0x9e3779b97f4a7c15ull + static_cast<uint64_t>(index) + 1;
    for (int i = count - 1; i > 0; --i) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;  // xorshift64
      std::swap(turn_of_[i], turn_of_[state % static_cast<uint64_t>(i + 1)]);
    }
  }
  uint3 at{};
  for (int i = 0; i < count; ++i) {
    Turn& turn = turns_[turn_of_[i]];
    turn = {.position = nullptr, .index = at, .thread = static_cast<uint16_t>(i)};
    if (++at.x < kernel_->block.x) continue;
    at.x = 0;
    if (++at.y == kernel_->block.y) at.y = 0, ++at.z;
  }
}

std::string Block::run(const KernelInfo& kernel, const std::function<void()>& body, int64_t index,
                       ThreadOrder order, bool poison_shared) {
  kernel_ = &kernel;
  body_ = &body;
  ++serial_;
  count_ = static_cast<int>(kernel.block.x * kernel.block.y * kernel.block.z);
  set_order(order, index);
  stacks_.reserve(static_cast<size_t>(count_));
  free_fibers_.clear();
  used_fibers_ = 0;
  live_ = count_;
  ready_.assign(count_);
  at_barrier_.assign(0);
  barrier_ = {};
  error_.clear();
  for (int i = 0; i < count_; ++i) threads_[i].state = State::ready;
  for (int w = 0; w * kWarp < count_; ++w) {
    int lanes = std::min(kWarp, count_ - w * kWarp);
    warps_[w] = {lanes == kWarp ? ~0u : (1u << lanes) - 1, 0, 0};
  }
  const int64_t gx = kernel.grid.x, gy = kernel.grid.y;
  block_index_ = {unsigned(index % gx), unsigned(index / gx % gy), unsigned(index / gx / gy)};
  hostcuda_thread = {{}, block_index_, kernel.block, kernel.grid};
#ifdef __SANITIZE_ADDRESS__
  ASAN_UNPOISON_MEMORY_REGION(arena_.get(), kArenaBytes);
  ASAN_POISON_MEMORY_REGION(arena_.get() + kernel.shared_bytes, kArenaBytes - kernel.shared_bytes);
#endif
  if (poison_shared) std::memset(arena_.get(), 0xff, kernel.shared_bytes);
  if (observer != nullptr) observer->block_begins(*this, kernel, block_index_);
  turn_ = 0;
  start(0);
  const Turn& first = turns_[0];
  switch_fiber(main_fiber_, &main_position_, stacks_.fiber(first.fiber), first.position);
  if (observer != nullptr) observer->block_ends();
  return std::move(error_);
}

void Block::fiber_entry() {
  arrive_on_new_fiber();
  Block& block = *running_block;
  try {
    block.run_threads();
  } catch (const Failed&) {
  }
  block.leave_block();
}

// To the CPU thread's own stack, for good: at the end of the block, or at an error.
void Block::leave_block() {
  StackPosition never;
  switch_fiber(stacks_.fiber(turns_[turn_].fiber), &never, main_fiber_, main_position_, true);
}

// Runs the current thread, then others that have not started yet, on this fiber.
void Block::run_threads() {
  const uint16_t fiber = turns_[turn_].fiber;
  for (;;) {
    turns_[turn_].fiber = fiber;
    ready_.clear(turn_);
    hostcuda_thread.thread = turns_[turn_].index;
    try {
      (*body_)();
    } catch (const Failed&) {
      throw;
    } catch (const std::exception& error) {
      fail(Failure::exception, current(), {"", 0}, std::string("uncaught exception: ") + error.what());
    } catch (...) {
      fail(Failure::exception, current(), {"", 0}, "uncaught exception");
    }
    thread_exited(current());
    if (live_ == 0) return;
    turn_ = next_turn();
    const Turn& next = turns_[turn_];
    if (next.position == nullptr) continue;
    free_fibers_.push_back(fiber);
    ready_.clear(turn_);
    hostcuda_thread.thread = next.index;
    StackPosition never;
    switch_fiber(stacks_.fiber(fiber), &never, stacks_.fiber(next.fiber), next.position, true);
  }
}

// The next thread in order that can run. Mostly that is the next: a guess that the CPU can follow before it
// knows what is ready.
[[gnu::always_inline]] inline unsigned int Block::next_turn() {
  if (ready_.contains(turn_ + 1)) return turn_ + 1;
  int turn = ready_.next(turn_);
  if (turn < 0 && release_active_masks()) turn = ready_.next(turn_);
  if (turn < 0) fail_stuck();
  return static_cast<unsigned int>(turn);
}

void Block::yield() {
  const int turn = ready_.next((turn_ + 1) % kMaxThreads);
  if (turn < 0) return;
  ready_.set(turn_);
  switch_to(static_cast<unsigned int>(turn));
}

// Gives a thread a fiber to start on.
[[gnu::noinline]] void Block::start(unsigned int number) {
  Turn& turn = turns_[number];
  if (free_fibers_.empty()) {
    turn.fiber = used_fibers_++;
  } else {
    turn.fiber = free_fibers_.back();
    free_fibers_.pop_back();
  }
  turn.position = stacks_.prepare(turn.fiber, fiber_entry);
}

// Lets the thread with turn `next` run until the current one is switched to.
[[gnu::always_inline]] inline void Block::switch_to(unsigned int next) {
  Turn &from = turns_[turn_], &to = turns_[next];
  ready_.clear(next);
  if (next == turn_) return;
  turn_ = next;
  hostcuda_thread.thread = to.index;
  // The stacks of a block are more than a first-level cache holds: fetch the one after the next.
  const char* after = static_cast<const char*>(turns_[next + 1].position);
  __builtin_prefetch(after), __builtin_prefetch(after + 64), __builtin_prefetch(after + 128);
  if (to.position == nullptr) start(next);
  switch_fiber(stacks_.fiber(from.fiber), &from.position, stacks_.fiber(to.fiber), to.position);
}

void Block::thread_exited(int thread) {
  Thread& self = threads_[thread];
  self.state = State::exited;
  --live_;
  Warp& warp = warps_[thread / kWarp];
  warp.live &= ~(1u << (thread % kWarp));
  for (unsigned int lanes = warp.waiting; lanes != 0; lanes &= lanes - 1) {  // who may have waited for it
    int lane = std::countr_zero(lanes);
    if ((warp.waiting >> lane & 1) != 0) try_warp(thread / kWarp, lane);
  }
  if (live_ > 0 && barrier_.arrived == live_) finish_barrier();
}

[[gnu::always_inline]] inline int Block::barrier(BarrierKind kind, bool predicate, Site site) {
  if (barrier_.arrived == 0) {
    barrier_.kind = kind, barrier_.site = site, barrier_.first = current(), barrier_.votes = 0;
  } else if (barrier_.kind != kind || barrier_.site != site) {
    fail_divergent(current(), site);
  }
  barrier_.votes += predicate;
  if (++barrier_.arrived == live_) {
    finish_barrier();  // the last one goes on without a switch
  } else {
    at_barrier_.set(turn_);
    switch_to(next_turn());
  }
  return barrier_.result;
}

void Block::finish_barrier() {
  switch (barrier_.kind) {
    case BarrierKind::sync:
      barrier_.result = 0;
      break;
    case BarrierKind::count:
      barrier_.result = barrier_.votes;
      break;
    case BarrierKind::all:
      barrier_.result = barrier_.votes == barrier_.arrived;
      break;
    case BarrierKind::any:
      barrier_.result = barrier_.votes > 0;
      break;
  }
  if (observer != nullptr) observer->barrier();
  barrier_.arrived = 0;
  ready_.take(at_barrier_);
}

uint64_t Block::wait_for_warp(WarpKind kind, unsigned int mask, uint64_t value, int source, Site site) {
  const int thread = current(), lane = thread % kWarp;
  Thread& self = threads_[thread];
  self.kind = kind, self.mask = mask, self.value = value, self.source = static_cast<uint8_t>(source),
  self.site = site;
  if ((mask >> lane & 1) == 0) fail_mask(thread, thread);
  Warp& warp = warps_[thread / kWarp];
  if (warp.waiting == 0) warp.mask = mask;
  if (warp.mask != mask) {
    check_masks(thread / kWarp, lane);
    warp.mask = 0;
  }
  self.state = State::at_warp_operation;
  warp.waiting |= 1u << lane;
  if (kind != WarpKind::active_mask && try_warp(thread / kWarp, lane)) {
    ready_.clear(turn_);
  } else {
    switch_to(next_turn());
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
  if (kind == WarpKind::collective) return try_collective(w, lane);
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
  if (kind == WarpKind::sync && observer != nullptr) observer->warp_barrier(w, members);
  warp.waiting &= ~members;
  for (unsigned int rest = members; rest != 0; rest &= rest - 1) wake(w * kWarp + std::countr_zero(rest));
  return true;
}

// The same for an operation of the whole warp.
bool Block::try_collective(int w, int lane) {
  Warp& warp = warps_[w];
  Thread* lanes = &threads_[w * kWarp];
  if (warp.live != ~0u) {
    fail_collective(w * kWarp + lane, "lane " + std::to_string(std::countr_one(warp.live)) +
                                          " is missing: every lane of the warp must take part");
  }
  if (warp.waiting != ~0u) return false;
  const auto contribution = [&](int k) { return reinterpret_cast<const Contribution*>(lanes[k].value); };
  const WarpCollective* operation = contribution(lane)->operation;
  void* brought[kWarp];
  for (int k = 0; k < kWarp; ++k) {
    if (lanes[k].kind != WarpKind::collective || contribution(k)->operation != operation ||
        lanes[k].site != lanes[lane].site) {
      fail_collective(w * kWarp + lane, "but " + waits_at(w * kWarp + k));
    }
    brought[k] = contribution(k)->brought;
  }
  if (const char* wrong = operation->run(brought)) fail_collective(w * kWarp + lane, wrong);
  warp.waiting = 0;
  for (int k = 0; k < kWarp; ++k) wake(w * kWarp + k);
  return true;
}

// When nothing else can run, lanes that ask at one line who is active have converged as far as they can.
bool Block::release_active_masks() {
  bool released = false;
  for (int w = 0; w * kWarp < count_; ++w) {
    Thread* lanes = &threads_[w * kWarp];
    for (unsigned int rest = warps_[w].waiting; rest != 0; rest &= rest - 1) {
      const int first = std::countr_zero(rest);
      if (lanes[first].kind != WarpKind::active_mask || lanes[first].state != State::at_warp_operation)
        continue;
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

std::string run_block(const KernelInfo& kernel, const std::function<void()>& thread_body, int64_t block,
                      ThreadOrder order, bool poison_shared) {
  thread_local std::unique_ptr<Block> runner = std::make_unique<Block>();
  running_block = runner.get();
  std::string error = runner->run(kernel, thread_body, block, order, poison_shared);
  running_block = nullptr;
  return error;
}

namespace {
[[gnu::noinline]] int observed_barrier(BarrierKind kind, bool predicate, Site site) {
  const RuntimeCall call;
  return running_block->barrier(kind, predicate, site);
}
}  // namespace

int block_barrier_body(BarrierKind kind, bool predicate, Site site) asm("hostcuda_block_barrier_body");
HOSTCUDA_RETURN_BY_JUMP("hostcuda_block_barrier");
int block_barrier_body(BarrierKind kind, bool predicate, Site site) {
  if (running_block == nullptr) throw NotInBlock{site};
  if (observer != nullptr) return observed_barrier(kind, predicate, site);
  return running_block->barrier(kind, predicate, site);
}

uint64_t warp_operation_body(WarpKind kind, unsigned int mask, uint64_t value, int source,
                             Site site) asm("hostcuda_warp_operation_body");
HOSTCUDA_RETURN_BY_JUMP("hostcuda_warp_operation");
uint64_t warp_operation_body(WarpKind kind, unsigned int mask, uint64_t value, int source, Site site) {
  if (running_block == nullptr) throw NotInBlock{site};
  const RuntimeCall call;
  return running_block->wait_for_warp(kind, mask, value, source, site);
}

void warp_collective_body(const WarpCollective& operation, void* brought,
                          Site site) asm("hostcuda_warp_collective_body");
HOSTCUDA_RETURN_BY_JUMP("hostcuda_warp_collective");
void warp_collective_body(const WarpCollective& operation, void* brought, Site site) {
  Contribution mine{&operation, brought};
  warp_operation(WarpKind::collective, 0xffffffffu, reinterpret_cast<uint64_t>(&mine), 0, site);
}

void traced_thread_begins() {
  if (observer != nullptr) observer->thread_begins();
}
void traced_thread_ends() {
  if (observer != nullptr) observer->thread_ends();
}

uint3 thread_index() { return hostcuda_thread.thread; }
uint3 block_index() { return hostcuda_thread.block; }
uint3 block_dimensions() { return hostcuda_thread.block_dim; }
uint3 grid_dimensions() { return hostcuda_thread.grid_dim; }

int lane_id() { return running_block != nullptr ? running_block->current() % kWarp : 0; }

void* dynamic_shared() {
  if (running_block == nullptr) throw NotInBlock{{"LATHE_DYNAMIC_SHARED", 0}};
  return running_block->arena();
}

}  // namespace hostcuda
