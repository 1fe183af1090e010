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
    job_ = nullptr;
  }

 private:
  void help() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return wanted_ > 0; });
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
};

void run_job(Job& job, int threads) {
  static auto* team = new Team;  // never destroyed: its threads run until the process ends
  team->run(job, threads - 1);
}

#else

void run_job(Job& job, int threads) {
#pragma omp parallel num_threads(threads)
  job.work();
}

#endif

}  // namespace

void parallel_for(int64_t count, int64_t chunk, int threads, const std::function<void(int64_t, int64_t)>& body) {
  static std::mutex team_in_use;
  const int64_t parts = (count + chunk - 1) / chunk;
  threads = static_cast<int>(std::min<int64_t>(threads, parts));
  std::unique_lock lock(team_in_use, std::defer_lock);
  if (threads > 1 && lock.try_lock()) {
    Job job{.count = count, .chunk = chunk, .body = &body};
    run_job(job, threads);
  } else {
    body(0, count);
  }
}

}  // namespace hostcuda
