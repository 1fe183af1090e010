// The input pipeline: worker threads fill batches of a StagedSet ahead of the training loop.
//
//   Pipeline pipeline(*datasets.train, {.batch_size = 64, .workers = 2});
//   pipeline.start(epoch, sample_offset);
//   while (const Batch* batch = pipeline.next()) { …copy to the device…; pipeline.release(batch); }
//
// What a batch holds depends on (seed, epoch, position) alone, never on the number of workers. Each epoch's
// order is a Fisher-Yates shuffle of 0 … N-1 by splitmix64 with the key (seed, epoch), see random.h.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "datasets/random.h"
#include "datasets/staged.h"

namespace lathe {

struct PipelineOptions {
  int64_t batch_size = 64;
  bool shuffle = true;     // false: the dataset's own order
  bool drop_last = false;  // leave out the last batch of an epoch where it is smaller
  uint64_t seed = 1;
  int workers = 2;       // 0: next() does the work itself
  int64_t prefetch = 2;  // batches filled ahead, besides the two that the consumer may hold
};

// Owned by the pipeline: valid from next() to release().
struct Batch {
  int64_t epoch;
  int64_t first;     // position of the first sample in the epoch's order
  int64_t size;      // batch_size, or less at the end of an epoch
  bool last;         // ends the epoch
  uint8_t* images;   // [size, height, width, 3], pinned as are the others
  int64_t* samples;  // [size], indices into the dataset
  int32_t* labels;   // [size]
  double wait_ms;    // how long next() waited for it
};

class Pipeline {
 public:
  static constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

  // The set must outlive the pipeline. Throws Error(usage) for a batch size below 1, or where drop_last
  // leaves no batch. Buffers are allocated at the first start(), which throws Error(device) if it cannot.
  Pipeline(const StagedSet& set, const PipelineOptions& options);
  ~Pipeline() { stop(); }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  int64_t batches_per_epoch() const;
  // Samples that an epoch visits: all, or with drop_last whole batches of them.
  int64_t samples_per_epoch() const;
  // The sample at each position of an epoch.
  std::vector<int64_t> order(int64_t epoch) const;

  // Begins at a position of an epoch (resuming gives the samples seen so far) and goes on through the epochs
  // before end_epoch. What was running is stopped; batches still held become invalid.
  void start(int64_t epoch = 0, int64_t offset = 0, int64_t end_epoch = kForever);
  // The next batch in order, or null after the last. A worker's Error is thrown here, and again by every
  // later call. At most two batches may be held at once. Called, like release(), by one thread.
  const Batch* next();
  // Gives a batch back for refilling; no copy may still read it.
  void release(const Batch* batch);
  void stop();

 private:
  // Pinned, so that copies to the device can run beside the computation.
  struct FreeHost {
    void operator()(void* block) const;
  };
  template <typename T>
  using Pinned = std::unique_ptr<T[], FreeHost>;
  template <typename T>
  static Pinned<T> pinned(int64_t count);

  struct Slot {
    Batch batch{};
    Pinned<uint8_t> images;
    Pinned<int64_t> samples;
    Pinned<int32_t> labels;
    enum { empty, filling, held } state = empty;
    int64_t claimed = 0;  // samples handed to workers
    int64_t done = 0;
    std::exception_ptr error;
    bool ready() const { return state == filling && done == batch.size; }
  };
  struct Claim {
    Slot* slot;
    int64_t begin, end;
  };

  bool open_batch();  // these three with mutex_ held
  bool claim(Claim* claim);
  void finish(const Claim& claim, std::exception_ptr error);
  void fill(const Claim& claim) const;
  void work();

  const StagedSet& set_;
  const PipelineOptions options_;
  std::vector<std::jthread> workers_;

  std::mutex mutex_;
  std::condition_variable work_there_, batch_ready_;
  std::vector<Slot> slots_;         // batch number t lives in slot t % slots
  int64_t opened_ = 0, taken_ = 0;  // batches opened for filling, handed to the consumer
  int64_t epoch_ = 0, offset_ = 0, end_epoch_ = 0;
  std::vector<int64_t> order_;  // of epoch_; empty: not computed yet
  bool stopping_ = false;
  std::exception_ptr failure_;
};

}  // namespace lathe
