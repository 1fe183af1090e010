// What is written down of each thread while a block runs.
#pragma once

#include <cstdint>
#include <vector>

#include "hostcuda/execution/observer.h"

namespace hostcuda::trace {

// An address of code, as an offset in the program.
using Pc = uint32_t;

enum class Space : uint8_t { global, shared };

struct Record {
  uint64_t address;
  Pc pc;
  uint8_t bytes;
  Access kind;
  Space space;
};
static_assert(sizeof(Record) == 16);

// The path is every basic block that the thread entered and every access that it made, in order; accesses are
// marked. Threads with equal paths went side by side.
struct ThreadLog {
  static constexpr Pc kAccess = 1u << 31;
  std::vector<Pc> path;
  std::vector<Record> records;  // the path's accesses
  bool running = false;         // in its kernel
  void clear() { path.clear(), records.clear(); }
};

}  // namespace hostcuda::trace
