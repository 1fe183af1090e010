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
  std::iota(thread_at_.begin(), thread_at_.begin() + count_, 0);
  if (order.kind == ThreadOrder::reverse) {
    std::reverse(thread_at_.begin(), thread_at_.begin() + count_);
  } else if (order.kind != ThreadOrder::forward) {
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
  ++serial_;
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
  current_ = thread_at_[0];
  threads_[current_].fiber = &stacks_.prepare(used_fibers_++, fiber_entry);
  switch_fiber(main_, *threads_[current_].fiber);
  if (observer != nullptr) observer->block_ends();
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
      fail(Failure::exception, thread, {"", 0}, std::string("uncaught exception: ") + error.what());
    } catch (...) {
      fail(Failure::exception, thread, {"", 0}, "uncaught exception");
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
void Block::resume(int thread) { switch_to(thread, next_thread()); }

void Block::yield() {
  const int thread = current_;
  const int turn = ready_.next((static_cast<unsigned>(threads_[thread].turn) + 1) % kMaxThreads);
  if (turn < 0) return;
  ready_.set(threads_[thread].turn);
  switch_to(thread, thread_at_[turn]);
}

void Block::switch_to(int thread, int next) {
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
  for (int i = 0; i < count_; ++i) {
    if (threads_[i].state == State::at_barrier) wake(i);
  }
}

uint64_t Block::wait_for_warp(WarpKind kind, unsigned int mask, uint64_t value, int source, Site site) {
  const int thread = current_, lane = thread % kWarp;
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

int block_barrier(BarrierKind kind, bool predicate, Site site) {
  if (running_block == nullptr) throw NotInBlock{site};
  const RuntimeCall call;
  return running_block->wait_at_barrier(kind, predicate, site);
}

uint64_t warp_operation(WarpKind kind, unsigned int mask, uint64_t value, int source, Site site) {
  if (running_block == nullptr) throw NotInBlock{site};
  const RuntimeCall call;
  return running_block->wait_for_warp(kind, mask, value, source, site);
}

void warp_collective(const WarpCollective& operation, void* brought, Site site) {
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
