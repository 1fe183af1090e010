// Inside the runtime: errors, streams, events, captures. One device, so one Runtime.
#pragma once

#include <semaphore.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cuda_runtime_api.h"

namespace hostcuda {

using Work = std::function<void()>;

// What nothing else can mend: the first error inside a kernel stays and is every later call's result.
cudaError_t sticky_error();
void set_sticky_error(cudaError_t error, const std::string& message);  // tells stderr, once
// Remembers an error for cudaGetLastError and returns it.
cudaError_t report(cudaError_t error);

// A point in a stream's work that others can wait for.
class Marker {
 public:
  void complete();
  void wait();
  bool done();
  std::chrono::steady_clock::time_point time() { return time_; }

 private:
  std::mutex mutex_;
  std::condition_variable completed_;
  bool done_ = false;
  std::chrono::steady_clock::time_point time_;
};
using MarkerPtr = std::shared_ptr<Marker>;

// A position in a stream, for the memory pool: work submitted to stream `stream` up to number `submitted`.
using StreamPositions = std::map<uint64_t, uint64_t>;

struct GraphNode {
  Work work;
  std::vector<size_t> dependencies;
  uint64_t stream = 0;
};

struct Capture {
  cudaStreamCaptureMode mode;
  std::thread::id thread;
  cudaStream_t origin;
  bool invalidated = false;
  std::set<cudaStream_t> streams;
  std::unique_ptr<CUgraph_st> graph;
};

// Does what a stream's worker does with one piece of work: nothing after a sticky error; an exception becomes
// one.
void execute(const Work& work);

}  // namespace hostcuda

struct CUgraph_st {
  std::vector<hostcuda::GraphNode> nodes;  // each after those that it depends on
};

// A stream: one CPU thread that does one piece of work after another.
//
// The queue is a linked list and a semaphore, so that order passes one way only: what happened before a push
// happens before the work. With a mutex, whoever pushes next would also be ordered after the work that is
// done by then, and ThreadSanitizer would miss most missing event waits. The public members belong to the
// runtime's mutex, which every caller of push, push_marker and idle holds.
struct CUstream_st {
  CUstream_st(uint64_t id, bool blocking);
  ~CUstream_st();  // finishes the queue
  CUstream_st(const CUstream_st&) = delete;
  CUstream_st& operator=(const CUstream_st&) = delete;

  void push(hostcuda::Work work) { push(std::move(work), true); }
  hostcuda::MarkerPtr push_marker();  // complete as soon as all work before it is finished
  bool idle() const;                  // no unfinished work; a marker is none

  const uint64_t id;
  const bool blocking;  // ordered with the legacy default stream
  uint64_t submitted = 0;
  hostcuda::StreamPositions known;  // how much of other streams' work precedes what is submitted now
  std::shared_ptr<hostcuda::Capture> capture;
  std::vector<size_t> capture_tail;  // the nodes that the next captured node depends on

 private:
  struct Entry {
    hostcuda::Work work;  // empty: the end
    bool counts = false;
    std::atomic<Entry*> next{nullptr};
  };
  void push(hostcuda::Work work, bool counts);
  void work_loop();

  sem_t available_;
  Entry* last_;   // the pushers'
  Entry* taken_;  // the worker's: the entry taken last, before the first one left
  uint64_t pushed_ = 0;
  std::atomic<uint64_t> finished_{0};
  std::thread worker_;  // last: it uses the others
};

struct CUevent_st {
  bool timing = true;
  hostcuda::MarkerPtr marker;  // null: never recorded
  hostcuda::StreamPositions position;
  std::shared_ptr<hostcuda::Capture> capture;  // set: last recorded in a capture
  std::vector<size_t> capture_tail;
};

namespace hostcuda {

struct Runtime {
  std::mutex mutex;
  std::unique_ptr<CUstream_st> legacy;
  std::set<cudaStream_t> streams;  // the user's
  std::set<std::shared_ptr<Capture>> captures;
  uint64_t next_stream_id = 1;
};
Runtime& runtime();

// Null handle and cudaStreamLegacy: the default stream. Not a stream: null. Needs the runtime's mutex.
CUstream_st* find_stream(cudaStream_t handle);

// Control work, such as a wait: done even after a sticky error, in the default stream's order. Needs the
// mutex.
void push_ordered(CUstream_st& stream, Work work);

// Work for a stream, or a node of the graph that it captures.
cudaError_t submit(cudaStream_t stream, Work work);
// The same for callers that hold the mutex.
cudaError_t submit_locked(CUstream_st& stream, Work work);

// Calls that wait or allocate are illegal during a capture: such a call fails and invalidates the capture.
cudaError_t refuse_during_capture();
void invalidate(Capture& capture);

bool is_pinned_or_device(const void* pointer);
// Every live allocation that a kernel may access, by address: first byte and bytes.
std::vector<std::pair<const char*, size_t>> device_arrays();
void release_pool();  // gives unused pool memory back; no stream may have work left

}  // namespace hostcuda
