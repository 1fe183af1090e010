// From an address of code to its line, through the program's debug information.
#pragma once

#include <string>

namespace hostcuda::trace {

struct SourceLine {
  std::string file;  // "": unknown
  int line = 0;
};

// The line of the call that returns to `return_address`; of inlined code the innermost line outside of
// hostcuda, which is the kernel's.
SourceLine line_of_call(const void* return_address);

}  // namespace hostcuda::trace
