// cp.async on a CPU: each thread's unfinished copies, in groups, as the PTX ISA has them. Used through
// hostcuda/portable/async_copy.h.
#pragma once

#include "cuda_runtime.h"

namespace hostcuda {

// Copies the first `valid` of `bytes` bytes and makes the rest zero. When, says set_async_copies(): now, or
// at the wait, until when the destination holds 0xff bytes.
void async_copy(void* shared, const void* global, int bytes, int valid, Site site);
// Ends the current thread's open group.
void async_copy_commit(Site site);
// Finishes the current thread's groups but the newest `groups`.
void async_copy_wait(int groups, Site site);

}  // namespace hostcuda
