// hostcuda's own switches, beside CUDA's API. Each has an environment variable, read at first use; see
// README.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hostcuda {

void set_threads(int count);  // CPU threads for the blocks of a kernel; 0: all cores   HOSTCUDA_THREADS
int threads();

// The order in which the threads of a block take turns: "forward", "reverse", "random:SEED", "preempt:SEED"
// (random, and traced kernels change turns at any access). Throws
// std::invalid_argument.                                                              HOSTCUDA_THREAD_ORDER
void set_thread_order(const char* order);

// When cp.async copies: "issue", at once; "wait", at the thread's wait, and poison (0xff bytes) until then.
// Throws std::invalid_argument.                                                        HOSTCUDA_ASYNC_COPIES
void set_async_copies(const char* when);

void set_poison_shared(bool on);      // dynamic shared memory is NaN before each block HOSTCUDA_POISON_SHARED
void set_poison_memory(bool on);      // fresh device memory is NaN HOSTCUDA_POISON_MEMORY
void set_memory_limit(size_t bytes);  // device memory; 0: the machine's                 HOSTCUDA_MEMORY_LIMIT
void fail_allocation(int64_t n);  // the n-th allocation from now fails; 0: none          HOSTCUDA_FAIL_ALLOC
void fail_launch(int64_t n);      // the n-th kernel launch from now fails; 0: none       HOSTCUDA_FAIL_LAUNCH

// Waits for all streams and forgets errors and switches, as a new process would. For tests.
void reset_for_tests();

}  // namespace hostcuda
