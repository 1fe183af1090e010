// Streams and events: a stream is a worker thread with a queue, an event a point in it. ThreadSanitizer sees
// exactly the order that the program asked for.
#include <algorithm>
#include <utility>

#include "hostcuda/runtime/runtime.h"

using hostcuda::Capture;
using hostcuda::find_stream;
using hostcuda::MarkerPtr;
using hostcuda::refuse_during_capture;
using hostcuda::report;
using hostcuda::runtime;
using hostcuda::sticky_error;
using hostcuda::Work;

namespace hostcuda {

void Marker::complete() {
  std::lock_guard lock(mutex_);
  time_ = std::chrono::steady_clock::now();
  done_ = true;
  completed_.notify_all();
}

void Marker::wait() {
  std::unique_lock lock(mutex_);
  completed_.wait(lock, [this] { return done_; });
}

bool Marker::done() {
  std::lock_guard lock(mutex_);
  return done_;
}

void execute(const Work& work) {
  if (sticky_error() != cudaSuccess) return;
  try {
    work();
  } catch (const std::exception& error) {
    set_sticky_error(cudaErrorLaunchFailure, std::string("uncaught exception on a stream: ") + error.what());
  } catch (...) {
    set_sticky_error(cudaErrorLaunchFailure, "uncaught exception on a stream");
  }
}

Runtime& runtime() {
  static auto* instance = new Runtime;  // never destroyed: streams may run until the process ends
  return *instance;
}

CUstream_st* find_stream(cudaStream_t handle) {
  Runtime& all = runtime();
  if (handle == nullptr || handle == cudaStreamLegacy) {
    if (all.legacy == nullptr) all.legacy = std::make_unique<CUstream_st>(all.next_stream_id++, true);
    return all.legacy.get();
  }
  return all.streams.count(handle) != 0 ? handle : nullptr;
}

namespace {

void order_after(CUstream_st& stream, CUstream_st& earlier) {
  if (earlier.idle()) return;
  MarkerPtr marker = earlier.push_marker();
  stream.push([marker] { marker->wait(); });
}

// The default stream waits for all blocking streams, and they for it.
void keep_legacy_order(CUstream_st& stream) {
  Runtime& all = runtime();
  if (&stream == all.legacy.get()) {
    for (cudaStream_t other : all.streams) {
      if (other->blocking) order_after(stream, *other);
    }
  } else if (stream.blocking && all.legacy != nullptr) {
    order_after(stream, *all.legacy);
  }
}

}  // namespace

void push_ordered(CUstream_st& stream, Work work) {
  keep_legacy_order(stream);
  stream.push(std::move(work));
  ++stream.submitted;
}

cudaError_t submit_locked(CUstream_st& stream, Work work) {
  if (sticky_error() != cudaSuccess) return sticky_error();
  Runtime& all = runtime();
  if (stream.capture != nullptr) {
    if (stream.capture->invalidated) return cudaErrorStreamCaptureInvalidated;
    auto& nodes = stream.capture->graph->nodes;
    nodes.push_back({std::move(work), stream.capture_tail, stream.id});
    stream.capture_tail = {nodes.size() - 1};
    return cudaSuccess;
  }
  if (&stream == all.legacy.get()) {  // would have to wait for the streams that capture
    for (const auto& capture : all.captures) {
      bool blocking = std::any_of(capture->streams.begin(), capture->streams.end(),
                                  [](cudaStream_t s) { return s->blocking; });
      if (blocking && capture->mode != cudaStreamCaptureModeRelaxed) {
        invalidate(*capture);
        return cudaErrorStreamCaptureImplicit;
      }
    }
  }
  push_ordered(stream, [work = std::move(work)] { execute(work); });
  return cudaSuccess;
}

cudaError_t submit(cudaStream_t handle, Work work) {
  std::lock_guard lock(runtime().mutex);
  CUstream_st* stream = find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  return submit_locked(*stream, std::move(work));
}

void invalidate(Capture& capture) { capture.invalidated = true; }

cudaError_t refuse_during_capture() {
  std::lock_guard lock(runtime().mutex);
  cudaError_t result = cudaSuccess;
  for (const auto& capture : runtime().captures) {
    bool own = capture->thread == std::this_thread::get_id();
    bool forbidden = capture->mode == cudaStreamCaptureModeGlobal ||
                     (capture->mode == cudaStreamCaptureModeThreadLocal && own);
    if (!forbidden) continue;
    invalidate(*capture);
    result = cudaErrorStreamCaptureUnsupported;
  }
  return result;
}

}  // namespace hostcuda

CUstream_st::CUstream_st(uint64_t id, bool blocking)
    : id(id), blocking(blocking), last_(new Entry), taken_(last_) {
  sem_init(&available_, 0, 0);
  worker_ = std::thread([this] { work_loop(); });
}

CUstream_st::~CUstream_st() {
  push(nullptr, false);
  worker_.join();
  delete taken_;
  sem_destroy(&available_);
}

void CUstream_st::push(Work work, bool counts) {
  auto* entry = new Entry{std::move(work), counts};
  pushed_ += static_cast<uint64_t>(counts);
  last_->next.store(entry, std::memory_order_release);
  last_ = entry;
  sem_post(&available_);
}

MarkerPtr CUstream_st::push_marker() {
  auto marker = std::make_shared<hostcuda::Marker>();
  push([marker] { marker->complete(); }, false);
  return marker;
}

bool CUstream_st::idle() const { return finished_.load(std::memory_order_acquire) == pushed_; }

void CUstream_st::work_loop() {
  for (;;) {
    while (sem_wait(&available_) != 0) {  // interrupted by a signal
    }
    Entry* entry = taken_->next.load(std::memory_order_acquire);
    delete std::exchange(taken_, entry);
    Work work = std::move(entry->work);
    if (work == nullptr) return;
    work();
    work = nullptr;
    if (entry->counts) finished_.fetch_add(1, std::memory_order_release);
  }
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  if (sticky_error() != cudaSuccess) return report(sticky_error());
  if (stream == nullptr || flags > cudaStreamNonBlocking) return report(cudaErrorInvalidValue);
  std::lock_guard lock(runtime().mutex);
  *stream = new CUstream_st(runtime().next_stream_id++, flags != cudaStreamNonBlocking);
  runtime().streams.insert(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

// Priorities are accepted and have no effect.
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int /*priority*/) {
  return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = 0;
  return cudaSuccess;
}

// Unlike on a GPU, this waits for the stream's work.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  {
    std::lock_guard lock(runtime().mutex);
    if (runtime().streams.erase(stream) == 0) return report(cudaErrorInvalidResourceHandle);
    if (stream->capture != nullptr) {
      stream->capture->streams.erase(stream);
      invalidate(*stream->capture);
    }
  }
  delete stream;
  return report(sticky_error());
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  MarkerPtr marker;
  {
    std::lock_guard lock(runtime().mutex);
    CUstream_st* stream = find_stream(handle);
    if (stream == nullptr) return report(cudaErrorInvalidResourceHandle);
    if (stream->capture != nullptr) {
      hostcuda::invalidate(*stream->capture);
      return report(cudaErrorStreamCaptureUnsupported);
    }
    hostcuda::keep_legacy_order(*stream);
    marker = stream->push_marker();
  }
  marker->wait();
  return report(sticky_error());
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  if (sticky_error() != cudaSuccess) return report(sticky_error());
  std::lock_guard lock(runtime().mutex);
  CUstream_st* stream = find_stream(handle);
  if (stream == nullptr) return report(cudaErrorInvalidResourceHandle);
  if (stream->capture != nullptr) {
    hostcuda::invalidate(*stream->capture);
    return report(cudaErrorStreamCaptureUnsupported);
  }
  return stream->idle() ? cudaSuccess : report(cudaErrorNotReady);
}

cudaError_t cudaDeviceSynchronize() {
  if (cudaError_t error = refuse_during_capture(); error != cudaSuccess) return report(error);
  std::vector<MarkerPtr> markers;
  {
    std::lock_guard lock(runtime().mutex);
    for (cudaStream_t stream : runtime().streams) markers.push_back(stream->push_marker());
    markers.push_back(find_stream(nullptr)->push_marker());
  }
  for (const MarkerPtr& marker : markers) marker->wait();
  return report(sticky_error());
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* user_data) {
  if (function == nullptr) return report(cudaErrorInvalidValue);
  return report(hostcuda::submit(stream, [function, user_data] { function(user_data); }));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  if (sticky_error() != cudaSuccess) return report(sticky_error());
  if (event == nullptr || flags > (cudaEventBlockingSync | cudaEventDisableTiming)) {
    return report(cudaErrorInvalidValue);
  }
  *event = new CUevent_st;
  (*event)->timing = (flags & cudaEventDisableTiming) == 0;
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (event == nullptr) return report(cudaErrorInvalidResourceHandle);
  delete event;
  return report(sticky_error());
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  std::lock_guard lock(runtime().mutex);
  CUstream_st* stream = find_stream(handle);
  if (stream == nullptr || event == nullptr) return report(cudaErrorInvalidResourceHandle);
  if (sticky_error() != cudaSuccess) return report(sticky_error());
  if (stream->capture != nullptr) {
    if (stream->capture->invalidated) return report(cudaErrorStreamCaptureInvalidated);
    event->capture = stream->capture;
    event->capture_tail = stream->capture_tail;
    return cudaSuccess;
  }
  event->capture = nullptr;
  hostcuda::keep_legacy_order(*stream);
  event->marker = stream->push_marker();
  event->position = stream->known;
  event->position[stream->id] = stream->submitted;
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned int /*flags*/) {
  std::lock_guard lock(runtime().mutex);
  CUstream_st* stream = find_stream(handle);
  if (stream == nullptr || event == nullptr) return report(cudaErrorInvalidResourceHandle);
  if (sticky_error() != cudaSuccess) return report(sticky_error());
  if (event->capture != nullptr) {
    std::shared_ptr<Capture> capture = event->capture;
    if (runtime().captures.count(capture) == 0) return report(cudaErrorCapturedEvent);  // it has ended
    if (capture->invalidated) return report(cudaErrorStreamCaptureInvalidated);
    if (stream->capture != nullptr && stream->capture != capture) {
      hostcuda::invalidate(*stream->capture);
      hostcuda::invalidate(*capture);
      return report(cudaErrorStreamCaptureMerge);
    }
    if (stream->capture == nullptr) {  // the fork: this stream joins the capture
      if (stream == runtime().legacy.get()) {
        hostcuda::invalidate(*capture);
        return report(cudaErrorStreamCaptureImplicit);
      }
      stream->capture = capture;
      stream->capture_tail.clear();
      capture->streams.insert(stream);
    }
    for (size_t node : event->capture_tail) {
      auto& tail = stream->capture_tail;
      if (std::find(tail.begin(), tail.end(), node) == tail.end()) tail.push_back(node);
    }
    return cudaSuccess;
  }
  if (stream->capture != nullptr && event->marker != nullptr) {  // depends on what is outside of the capture
    hostcuda::invalidate(*stream->capture);
    return report(cudaErrorStreamCaptureIsolation);
  }
  if (event->marker == nullptr) return cudaSuccess;
  hostcuda::push_ordered(*stream, [marker = event->marker] { marker->wait(); });
  for (auto [id, position] : event->position) {
    uint64_t& known = stream->known[id];
    known = std::max(known, position);
  }
  return cudaSuccess;
}

// The marker that a host thread may look at, null if there is none; or an error.
static cudaError_t observe(cudaEvent_t event, MarkerPtr* marker) {
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  {
    std::lock_guard lock(runtime().mutex);
    if (event->capture != nullptr) return cudaErrorCapturedEvent;
    *marker = event->marker;
  }
  return refuse_during_capture();
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  MarkerPtr marker;
  if (cudaError_t error = observe(event, &marker); error != cudaSuccess) return report(error);
  if (sticky_error() != cudaSuccess) return report(sticky_error());
  return marker == nullptr || marker->done() ? cudaSuccess : report(cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  MarkerPtr marker;
  if (cudaError_t error = observe(event, &marker); error != cudaSuccess) return report(error);
  if (marker != nullptr) marker->wait();
  return report(sticky_error());
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (milliseconds == nullptr) return report(cudaErrorInvalidValue);
  if (start == nullptr || end == nullptr) return report(cudaErrorInvalidResourceHandle);
  if (start->capture != nullptr || end->capture != nullptr) return report(cudaErrorCapturedEvent);
  bool usable = start->timing && end->timing && start->marker != nullptr && end->marker != nullptr;
  if (!usable) return report(cudaErrorInvalidResourceHandle);
  if (sticky_error() != cudaSuccess) return report(sticky_error());
  if (!start->marker->done() || !end->marker->done()) return report(cudaErrorNotReady);
  *milliseconds =
      std::chrono::duration<float, std::milli>(end->marker->time() - start->marker->time()).count();
  return cudaSuccess;
}
