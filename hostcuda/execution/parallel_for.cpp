// With OpenMP, so that oneDNN, which runs on the same stream threads, shares one team with the kernels. Under
// ThreadSanitizer, which cannot see into libgomp, with threads of our own.
#include "hostcuda/execution/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#ifdef __SANITIZE_THREAD__
#include <condition_variable>
#include <thread>
#include <vector>
#endif

namespace hostcuda {
namespace {

struct Job {
  std::atomic<int64_t> next{0};
  int64_t count, chunk;
  const std::function<void(int64_t, int64_t)>* body;

  void work() {
    for (;;) {
      int64_t first = next.fetch_add(chunk);
      if (first >= count) return;
      (*body)(first, std::min(first + chunk, count));
    }
  }
};

#ifdef __SANITIZE_THREAD__

class Team {
 public:
  ~Team() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
      changed_.notify_all();
    }
    for (std::thread& thread : threads_) thread.join();
  }

  void run(Job& job, int helpers) {
    std::unique_lock lock(mutex_);
    while (static_cast<int>(threads_.size()) < helpers) {
      threads_.emplace_back([this] { help(); });
    }
    job_ = &job;
    wanted_ = helpers;
    changed_.notify_all();
    lock.unlock();
    job.work();
    lock.lock();
    wanted_ = 0;  // who has not begun by now is not needed
    changed_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  void help() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stop_ || wanted_ > 0; });
      if (stop_) return;
      --wanted_;
      ++busy_;
      Job* job = job_;
      lock.unlock();
      job->work();
      lock.lock();
      --busy_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::thread> threads_;
  Job* job_ = nullptr;
  int wanted_ = 0, busy_ = 0;
  bool stop_ = false;
};

// Each stream has helpers of its own: shared ones would order the streams' work and so hide races between
// them.
void run_job(Job& job, int threads) {
  thread_local Team team;
  team.run(job, threads - 1);
}

#else

void run_job(Job& job, int threads) {
  static std::mutex team_in_use;
  std::unique_lock lock(team_in_use, std::try_to_lock);
  if (!lock.owns_lock()) return job.work();
#pragma omp parallel num_threads(threads)
  job.work();
}

#endif

}  // namespace

void parallel_for(int64_t count, int64_t chunk, int threads,
                  const std::function<void(int64_t, int64_t)>& body) {
  const int64_t parts = (count + chunk - 1) / chunk;
  threads = static_cast<int>(std::min<int64_t>(threads, parts));
  if (threads <= 1) return body(0, count);
  Job job{.count = count, .chunk = chunk, .body = &body};
  run_job(job, threads);
}

}  // namespace hostcuda
