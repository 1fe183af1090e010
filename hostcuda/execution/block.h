// One block of threads as fibers: its state and its scheduler (fibers.cpp), and what it says of a wrong
// kernel (block_errors.cpp).
//
// A thread runs until it has to wait, then hands over directly to the next thread in order that can run.
// Threads that never wait run one after another on one fiber, with no switch at all.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hostcuda/execution/fibers.h"
#include "hostcuda/execution/observer.h"
#include "hostcuda/execution/stacks.h"
#include "hostcuda/execution/warp_collective.h"

namespace hostcuda {

constexpr int kMaxThreads = 1024, kWarp = 32, kMaxWarps = kMaxThreads / kWarp;

// One bit for each thread, by its place in the order of turns.
class TurnSet {
 public:
  void assign(int count) {
    for (int w = 0; w < kWords; ++w) {
      int bits = std::clamp(count - w * 64, 0, 64);
      words_[w] = bits == 64 ? ~0ull : (1ull << bits) - 1;
    }
  }
  void set(unsigned int i) { words_[i / 64] |= 1ull << (i % 64); }
  bool contains(unsigned int i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }
  // Takes all members of `other`, which is empty afterwards.
  void take(TurnSet& other) {
    for (int w = 0; w < kWords; ++w) words_[w] |= std::exchange(other.words_[w], 0);
  }
  void clear(unsigned int i) { words_[i / 64] &= ~(1ull << (i % 64)); }
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
  static constexpr int kWords = kMaxThreads / 64 + 1;  // the turn after the last one is never a member
  std::array<uint64_t, kWords> words_{};
};

struct Failed {};  // unwinds a fiber after Block::fail

// What a switch between threads touches of each, in the order of turns: few bytes, because the cost is the
// cache lines.
struct Turn {
  StackPosition position = nullptr;  // where the thread goes on; null: it has not started
  uint3 index{};
  uint16_t thread = 0;
  uint16_t fiber = 0;  // the stack that it runs on
};
static_assert(sizeof(Turn) == 24);

enum class State : uint8_t { ready, at_warp_operation, exited };

// What warp operations keep of each thread.
struct Thread {
  uint64_t value = 0;  // what it brings, then what it gets
  Site site{};         // where it waits
  unsigned int mask = 0;
  uint8_t source = 0;
  State state = State::ready;
  WarpKind kind{};
};

// What a lane brings to WarpKind::collective; its `value` is the address.
struct Contribution {
  const WarpCollective* operation;
  void* brought;
};

struct Warp {
  unsigned int live = 0;     // has not returned
  unsigned int waiting = 0;  // at a warp operation
  unsigned int mask = 0;     // the mask that all waiting lanes came with; 0: they differ
};

struct Barrier {
  int arrived = 0, votes = 0, first = 0, result = 0;
  BarrierKind kind{};
  Site site{};
};

class Block {
 public:
  Block() : arena_(static_cast<char*>(std::aligned_alloc(1024, kArenaBytes)), &std::free) {}

  std::string run(const KernelInfo& kernel, const std::function<void()>& body, int64_t index,
                  ThreadOrder order, bool poison_shared);
  int barrier(BarrierKind kind, bool predicate, Site site);
  uint64_t wait_for_warp(WarpKind kind, unsigned int mask, uint64_t value, int source, Site site);
  void yield();  // lets another thread run first, if one can
  // Gives the block up at the current thread without unwinding, for code that exceptions cannot pass.
  [[noreturn]] void abandon(Failure kind, const std::string& message);
  // Gives the block up because of what the current thread does at `site`.
  [[noreturn, gnu::cold]] void fail_here(Failure kind, Site site, const std::string& message);

  void* arena() { return arena_.get(); }
  size_t arena_bytes() const { return kernel_->shared_bytes; }
  const Stacks& stacks() const { return stacks_; }
  int current() const { return turns_[turn_].thread; }
  int count() const { return count_; }
  uint64_t serial() const { return serial_; }  // 1 for the first block that this CPU thread runs
  uint3 thread_index(int thread) const { return turns_[turn_of_[thread]].index; }

 private:
  static constexpr size_t kArenaBytes = 256 * 1024;

  static void fiber_entry();
  void run_threads();
  void set_order(ThreadOrder order, int64_t index);
  void switch_to(unsigned int next);
  void start(unsigned int turn);
  void leave_block();
  unsigned int next_turn();
  void thread_exited(int thread);
  void finish_barrier();
  bool try_warp(int warp, int lane);
  bool try_collective(int warp, int lane);
  bool release_active_masks();
  void check_masks(int warp, int lane);
  bool at_barrier(int thread) const { return at_barrier_.contains(turn_of_[thread]); }
  void wake(int thread) {
    threads_[thread].state = State::ready;
    ready_.set(turn_of_[thread]);
  }
  // Cold and out of line, which keeps the frames of waiting threads small.
  [[noreturn, gnu::cold, gnu::noinline]] void fail(Failure kind, int thread, Site site,
                                                   const std::string& message);
  [[noreturn, gnu::cold, gnu::noinline]] void fail_divergent(int thread, Site site);
  [[noreturn, gnu::cold, gnu::noinline]] void fail_stuck();
  [[noreturn, gnu::cold, gnu::noinline]] void fail_mask(int thread, int other);
  [[noreturn, gnu::cold, gnu::noinline]] void fail_source(int thread);
  [[noreturn, gnu::cold, gnu::noinline]] void fail_collective(int thread, const std::string& message);
  std::string thread_name(int thread) const;
  std::string waits_at(int thread) const;

  std::unique_ptr<char, decltype(&std::free)> arena_;
  Stacks stacks_;
  std::vector<uint16_t> free_fibers_;
  uint16_t used_fibers_ = 0;
  Fiber main_fiber_;
  StackPosition main_position_ = nullptr;

  const KernelInfo* kernel_ = nullptr;
  const std::function<void()>* body_ = nullptr;
  uint3 block_index_{};
  int count_ = 0, live_ = 0;
  unsigned int turn_ = 0;  // the current thread's
  uint64_t serial_ = 0;
  std::array<Turn, kMaxThreads + 1> turns_;
  std::array<uint16_t, kMaxThreads> turn_of_{};  // by thread
  std::array<Thread, kMaxThreads> threads_;      // by thread
  std::array<Warp, kMaxWarps> warps_;
  TurnSet ready_, at_barrier_;
  Barrier barrier_;
  std::string error_;
};

extern __thread Block* running_block;  // on this CPU thread; null outside kernels with fibers

}  // namespace hostcuda
