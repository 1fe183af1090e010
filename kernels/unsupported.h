// What a launcher throws, before it launches anything, where its kernel does not take a problem.
#pragma once

#include <stdexcept>

namespace lathe::kernels {

// what(): one line with the kernel, what it was given and what it takes.
struct Unsupported : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

}  // namespace lathe::kernels
