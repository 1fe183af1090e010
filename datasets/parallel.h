// Runs independent jobs on a few threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace lathe {

// Calls job(0) … job(count-1) on up to `workers` threads (0: as many as the machine has) and waits for all.
// The first exception stops the rest and is thrown again here.
template <typename Job>
void parallel_for(int64_t count, int workers, const Job& job) {
  if (workers <= 0) workers = std::max(1u, std::thread::hardware_concurrency());
  std::atomic<int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      for (int64_t i = next++; i < count; i = next++) job(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int64_t i = 1; i < std::min<int64_t>(workers, count); ++i) threads.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace lathe
