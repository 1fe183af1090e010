// Work that a library does on the CPU (oneDNN, the Eigen reference), as a step in a stream.
#pragma once

#include <functional>

#include "engine/graph/operation.h"

namespace lathe {

// An Enqueue that runs `body` on the stream's thread through cudaLaunchHostFunc, so that streams, events and
// graph capture treat it as any other work. An exception inside becomes an Error at the next
// throw_host_step_error() (Executable calls it whenever it synchronises).
Enqueue host_step(std::function<void()> body);
void throw_host_step_error();

}  // namespace lathe
