// The examination of kernels: what Nsight Compute counts, and what compute-sanitizer finds, without a GPU.
//
// Kernels compiled with lathe_traced() (scripts/cmake/lathe.cmake) call back for each memory access; linked
// with this library, every access of every lane is seen with its address. Lanes' accesses are paired into a
// warp's requests as a GPU would issue them, then counted:
//   global memory   sectors of 32 bytes that a request touches            (4 for 32 neighbouring floats)
//   shared memory   wavefronts: passes that 32 banks of 4 bytes need      (1 without a conflict)
// and checked: races between barriers, shared memory read before it is written, addresses outside of every
// array, misaligned vectors, cp.async data used before its wait, divergent barriers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cuda_runtime.h"

namespace hostcuda::trace {

// Of one space and direction.
struct Traffic {
  int64_t requests = 0;  // by warps: one instruction, up to 32 lanes
  int64_t lanes = 0;     // lanes that took part, over all requests
  int64_t bytes = 0;     // asked for by the lanes
  int64_t moved = 0;     // global: sectors of 32 bytes. shared: wavefronts
  int64_t ideal = 0;     // `moved` if the same bytes lay side by side (broadcasts counted once)
};

struct Figures {
  Traffic global_load, global_store, shared_load, shared_store;
  int64_t atomics = 0;  // lanes' atomic operations, in either space
};

struct Line {
  std::string file;  // as compiled; relative to the repository where it lies in it
  int line = 0;
  Figures figures;
};

enum class Kind {
  race,                  // two threads, one shared word, no barrier between
  uninitialised,         // shared memory read before it was written
  out_of_bounds,         // no array has this address
  misaligned,            // a vector access that its size does not divide
  unfinished_copy,       // cp.async data used before its wait
  divergent_barrier,     // threads of a block wait at different barriers, or some never come
  wrong_warp_operation,  // masks that disagree, a source lane that is not there, …
  other,
};
const char* name_of(Kind kind);  // "race"

// The first of its kind at its line; `count` says how many there were.
struct Finding {
  Kind kind = Kind::other;
  std::string message;  // one sentence, without kernel, block, thread and line
  std::string file;
  int line = 0;
  uint3 block{}, thread{};
  int64_t count = 1;
};

// All launches of one kernel with one grid since the trace began.
struct KernelTrace {
  std::string kernel;
  dim3 grid, block;
  int64_t dynamic_shared_bytes = 0, static_shared_bytes = 0;  // static: as far as it was touched
  int64_t launches = 0, blocks = 0, threads = 0;
  int64_t barriers = 0;       // by blocks
  int64_t warp_barriers = 0;  // by warps
  Figures figures;
  // Of the lanes that were live in the warps that made the requests, the share that sat out: divergence and
  // idle lanes at edges.
  double idle_lanes = 0;
  double unpaired = 0;  // share of accesses whose warp's request could not be told; 0 in structured code
  std::vector<Line> lines;
  std::vector<Finding> findings;
};

// Traces every launch between the two calls. Kernels run on one CPU thread meanwhile. A kernel that fails
// leaves what was seen of it, with its error among the findings.
void begin();
std::vector<KernelTrace> end();

// True where this program's kernels are compiled for tracing.
bool available();

}  // namespace hostcuda::trace
