// See source_lines.h.
#include "hostcuda/trace/source_lines.h"

#include <backtrace.h>

#include <cstdint>
#include <cstring>

namespace hostcuda::trace {

SourceLine line_of_call(const void* return_address) {
  static backtrace_state* state = backtrace_create_state(nullptr, 0, nullptr, nullptr);
  SourceLine found;
  auto take = [](void* data, uintptr_t, const char* file, int line, const char*) {
    if (file == nullptr) return 0;
    *static_cast<SourceLine*>(data) = {file, line};
    const bool ours =
        std::strncmp(file, "hostcuda/", 9) == 0 || std::strstr(file, "/hostcuda/include/") != nullptr;
    return ours ? 0 : 1;  // 1 ends the walk outwards
  };
  auto ignore = [](void*, const char*, int) {};
  backtrace_pcinfo(state, reinterpret_cast<uintptr_t>(return_address) - 1, take, ignore, &found);
  return found;
}

}  // namespace hostcuda::trace
