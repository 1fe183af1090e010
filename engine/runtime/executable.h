// A graph made runnable: implementations chosen, memory planned, addresses bound.
//
//   Program program = compile(graph, options);         chooses, prepares, schedules, plans; takes no memory
//   Executable step(program, state, arena);            binds addresses
//   step.run(slot, stream);                            enqueues one step, returns at once
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/graph/operation.h"
#include "engine/planner/planner.h"
#include "engine/runtime/state.h"

namespace lathe {

// One scheduled node with its chosen implementation.
struct PlannedStep {
  int node = -1;
  Call call;
  Cost cost;
  std::string implementation;  // kind
  Prepared prepared;
};

// A requested implementation that could not be used, and what runs instead.
struct Substitution {
  std::string operation, requested, used, reason;
};

struct Program {
  Graph graph;
  Options options;
  std::vector<PlannedStep> steps;  // in schedule order
  MemoryPlan memory;
  std::vector<Substitution> substitutions;
};

// Throws Error(usage) where an operation has no implementation for its types, or where options.strict is set
// and a requested implementation cannot be used.
Program compile(Graph graph, const Options& options);

// The memory that programs which never run at the same time share.
class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  // Must be called before any Executable is bound to it. Throws Error(device) when there is not enough
  // memory.
  void reserve(int64_t bytes);
  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

class Executable {
 public:
  // `slots` sets of input buffers, so that one batch is copied while another is computed. `poison`: for
  // tests, every buffer is filled with NaN (0xFF bytes) as soon as the plan says that it is dead.
  Executable(const Program& program, State& state, std::shared_ptr<Arena> arena, int slots = 1,
             bool poison = false);
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  void* input(int slot, const std::string& name) const;  // device address, as the graph typed it
  const void* output(int slot,
                     const std::string& name) const;  // valid once run() has completed, until it runs again
  void run(int slot, cudaStream_t stream);
  // Runs once with an event around every step; milliseconds in schedule order. Waits for the stream.
  std::vector<double> run_timed(int slot, cudaStream_t stream);
  const Program& program() const { return program_; }

 private:
  struct Slot;
  const Program& program_;
  std::shared_ptr<Arena> arena_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<void*> allocations_;
};

}  // namespace lathe
