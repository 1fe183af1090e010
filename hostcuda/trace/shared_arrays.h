// The static __shared__ arrays of the program: thread_local variables, told from its symbol table.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace hostcuda::trace {

struct SharedArray {
  size_t offset, bytes;  // in the thread-local block
  std::string name;      // "a_tile"
};

// By offset. Empty where the program has no symbol table.
std::vector<SharedArray> shared_arrays();

}  // namespace hostcuda::trace
