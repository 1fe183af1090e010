// The training step at work: compiled programs, two slots of buffers, a stream to compute and one to copy.
//
//   session.prepare(batch, role) for every kind of step that the run will take; then session.bind();
//   session.enqueue(batch, role, scalars);   returns at once; at most two steps are under way
//   StepResult result = session.collect();   waits for the oldest
#pragma once

#include <cuda_runtime.h>

#include <deque>
#include <map>
#include <memory>

#include "apps/training/step_graph.h"
#include "datasets/pipeline.h"
#include "engine/runtime/executable.h"

namespace lathe {

// What changes from step to step; device scalars, so that a captured graph never freezes them.
struct StepScalars {
  int64_t seed = 0, epoch = 0, step = 0, update_count = 1;
  float lr = 0, loss_scale = 1, sample_weight = 0;
};

struct StepResult {
  double loss_sum = 0;  // over the batch's samples
  double correct = 0;
  int64_t samples = 0;
};

// A CUDA stream that is destroyed with its owner.
class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// Page-locked host memory.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(int64_t bytes);
  ~PinnedBuffer();
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

class TrainingSession {
 public:
  static constexpr int kSlots = 2;

  // `options` are the effective ones; `native` is what --layout native means.
  TrainingSession(const StepSpec& spec, const Options& options, State& state, std::shared_ptr<Arena> arena);
  ~TrainingSession();

  // Compiles the step for a batch size and role. Throws Error(usage) where the model cannot take it.
  const Program& prepare(int64_t batch, StepRole role);
  // Binds addresses; no step can be prepared afterwards. The arena must already be large enough for whoever
  // shares it.
  void bind();

  int64_t arena_bytes() const;                                      // the largest of the prepared programs
  int64_t buffer_bytes() const;                                     // input slots and staging
  const std::vector<std::string>& notes() const { return notes_; }  // what the passes did, first program

  // The batch may be released as soon as this returns.
  void enqueue(const Batch& batch, StepRole role, const StepScalars& scalars);
  bool full() const { return static_cast<int>(under_way_.size()) == kSlots; }
  bool idle() const { return under_way_.empty(); }
  StepResult collect();

  cudaStream_t compute_stream() const { return compute_; }

 private:
  struct Staging;  // pinned memory of one slot
  struct Pending {
    int slot;
    int64_t samples;
  };
  using Key = std::pair<int64_t, StepRole>;

  StepSpec spec_;
  Options options_;
  State& state_;
  std::shared_ptr<Arena> arena_;
  std::map<Key, Program> programs_;
  std::map<Key, std::unique_ptr<Executable>> executables_;
  std::vector<std::string> notes_;
  Stream compute_, copy_;
  std::vector<std::unique_ptr<Staging>> staging_;
  std::deque<Pending> under_way_;
  int next_slot_ = 0;
};

}  // namespace lathe
