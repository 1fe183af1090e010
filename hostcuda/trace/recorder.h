// Collects what the running kernel does, block by block, and adds it up by kernel.
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "hostcuda/execution/block.h"
#include "hostcuda/trace/records.h"
#include "hostcuda/trace/requests.h"
#include "hostcuda/trace/shared_arrays.h"
#include "hostcuda/trace/shared_shadow.h"

namespace hostcuda::trace {

class Recorder final : public Observer {
 public:
  Recorder();
  std::vector<KernelTrace> take();

  void launch_begins(const KernelInfo& kernel) override;
  void launch_ends() override;
  void block_begins(Block& threads, const KernelInfo& kernel, uint3 block) override;
  void block_ends() override;
  void thread_begins() override { logs_[current()].running = true; }
  void thread_ends() override { logs_[current()].running = false; }
  void fails(Failure kind, int thread, Site site, const std::string& message) override;
  void barrier() override;
  void warp_barrier(int warp, unsigned int mask) override;
  void access(const void* pc, const void* address, size_t bytes, Access kind) override;
  void copy_begins(const void* pc, void* to, size_t bytes) override;
  void copy_ends(void* to, size_t bytes) override;

  // From traced code. What is not a running thread's in its kernel is of no interest, nor are local
  // variables.
  void traced_access(const void* pc, const void* address, size_t bytes, Access kind) {
    if (running_block == nullptr || running_block->stacks().holds(address) || !in_kernel()) return;
    access(pc, address, bytes, kind);
  }
  void basic_block(const void* pc) {
    if (!in_kernel() || full_) return;
    ThreadLog& log = logs_[current()];
    const Busy busy(busy_);
    log.path.push_back(offset(pc));
  }

 private:
  struct KernelRecord {
    KernelTrace trace;
    Requests requests;
    std::map<std::pair<Kind, Pc>, Finding> findings;
  };
  struct Range {
    const char* begin;
    size_t bytes;
  };

  bool in_kernel() const { return running_block != nullptr && !busy_ && logs_[current()].running; }
  size_t current() const { return static_cast<size_t>(running_block->current()); }
  Pc offset(const void* pc) const { return static_cast<Pc>(static_cast<const char*>(pc) - code_); }
  bool is_global(const char* address, size_t bytes) const;
  bool is_program_data(const char* address) const;
  bool between_arrays(const char* address) const;  // the static shared ones
  void wrong_address(const void* pc, const char* address, size_t bytes, Access kind);
  void find(Kind kind, const void* pc, const std::string& message);
  void flush_warps();

  const char* code_;                 // where the program is loaded
  std::vector<Range> program_data_;  // its segments
  std::vector<Range> arrays_;        // device memory, by address
  mutable Range last_array_{};
  std::vector<SharedArray> shared_arrays_;
  const char* thread_local_begin_ = nullptr;
  size_t thread_local_bytes_ = 0;
  SharedShadow shadow_;
  std::vector<ThreadLog> logs_;
  Block* block_ = nullptr;
  uint3 block_index_{};
  KernelRecord* kernel_ = nullptr;
  std::vector<std::unique_ptr<KernelRecord>> kernels_;
  // Set while the recorder itself works: functions of the standard library that it shares with traced code
  // may be the traced ones.
  bool busy_ = false;
  struct Busy {
    explicit Busy(bool& flag) : flag(flag) { flag = true; }
    ~Busy() { flag = false; }
    bool& flag;
  };
  bool full_ = false;
  size_t records_ = 0;
  uint64_t preempt_ = 0;  // state of the generator that changes turns; 0: off
};

// The one that the callbacks of traced code report to; null while nobody traces.
extern Recorder* recorder;

}  // namespace hostcuda::trace
