// Parts of a range on several CPU threads.
#pragma once

#include <cstdint>
#include <functional>

namespace hostcuda {

// body(first, last) for parts of [0, count) of at most `chunk`, on up to `threads` CPU threads, the calling
// one among them. Parts are taken in order but finish in any. One call at a time has the threads; another
// that comes meanwhile does its work alone. `body` must not throw.
void parallel_for(int64_t count, int64_t chunk, int threads,
                  const std::function<void(int64_t, int64_t)>& body);

}  // namespace hostcuda
