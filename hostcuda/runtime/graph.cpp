// Graphs: what streams capture, and its replay. Each stream that took part in the capture becomes a lane of
// the executable graph; lanes run on threads of their own and wait for each other only where the capture did,
// so a missing dependency is as real in the replay as it was in the capture.
#include <algorithm>
#include <utility>

#include "hostcuda/runtime/runtime.h"

using hostcuda::Capture;
using hostcuda::MarkerPtr;
using hostcuda::report;
using hostcuda::runtime;
using hostcuda::sticky_error;

struct CUgraphNode_st {};

struct CUgraphExec_st {
  struct Lane {
    std::vector<size_t> nodes;
    std::unique_ptr<CUstream_st> stream;  // null: the stream that the graph is launched on
  };
  std::vector<hostcuda::GraphNode> nodes;
  std::vector<bool> awaited;               // another lane depends on it
  std::vector<std::vector<size_t>> waits;  // on nodes of other lanes
  std::vector<Lane> lanes;
  MarkerPtr last_launch;
};

namespace hostcuda {
namespace {

bool unjoined_work(const Capture& capture) {
  const auto& nodes = capture.graph->nodes;
  std::vector<bool> joined(nodes.size(), false);
  for (size_t node : capture.origin->capture_tail) joined[node] = true;
  for (size_t i = nodes.size(); i-- > 0;) {
    if (!joined[i]) return true;
    for (size_t dependency : nodes[i].dependencies) joined[dependency] = true;
  }
  return false;
}

void run_lane(const CUgraphExec_st& exec, const CUgraphExec_st::Lane& lane,
              const std::vector<MarkerPtr>& done) {
  for (size_t node : lane.nodes) {
    for (size_t other : exec.waits[node]) done[other]->wait();
    execute(exec.nodes[node].work);
    if (done[node] != nullptr) done[node]->complete();
  }
}

}  // namespace
}  // namespace hostcuda

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  if (sticky_error() != cudaSuccess) return report(sticky_error());
  std::lock_guard lock(runtime().mutex);
  if (stream == nullptr || stream == cudaStreamLegacy) return report(cudaErrorStreamCaptureUnsupported);
  if (hostcuda::find_stream(stream) == nullptr) return report(cudaErrorInvalidResourceHandle);
  if (stream->capture != nullptr) return report(cudaErrorInvalidValue);
  auto capture = std::make_shared<Capture>();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream;
  capture->streams = {stream};
  capture->graph = std::make_unique<CUgraph_st>();
  stream->capture = capture;
  stream->capture_tail.clear();
  runtime().captures.insert(capture);
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (graph == nullptr) return report(cudaErrorInvalidValue);
  *graph = nullptr;
  std::lock_guard lock(runtime().mutex);
  if (hostcuda::find_stream(stream) == nullptr) return report(cudaErrorInvalidResourceHandle);
  if (stream == nullptr || stream == cudaStreamLegacy || stream->capture == nullptr) {
    return report(cudaErrorInvalidValue);
  }
  std::shared_ptr<Capture> capture = stream->capture;
  if (capture->origin != stream) {
    hostcuda::invalidate(*capture);
    return report(cudaErrorStreamCaptureUnmatched);
  }
  if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id()) {
    hostcuda::invalidate(*capture);
    return report(cudaErrorStreamCaptureWrongThread);
  }
  bool unjoined = hostcuda::unjoined_work(*capture);
  for (cudaStream_t other : capture->streams) {
    other->capture = nullptr;
  }
  runtime().captures.erase(capture);
  if (capture->invalidated) return report(cudaErrorStreamCaptureInvalidated);
  if (unjoined) return report(cudaErrorStreamCaptureUnjoined);
  *graph = capture->graph.release();
  return report(sticky_error());
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  if (status == nullptr) return report(cudaErrorInvalidValue);
  std::lock_guard lock(runtime().mutex);
  CUstream_st* stream = hostcuda::find_stream(handle);
  if (stream == nullptr) return report(cudaErrorInvalidResourceHandle);
  *status = stream->capture == nullptr     ? cudaStreamCaptureStatusNone
            : stream->capture->invalidated ? cudaStreamCaptureStatusInvalidated
                                           : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  if (graph == nullptr || count == nullptr) return report(cudaErrorInvalidValue);
  if (nodes != nullptr)
    return report(cudaErrorNotSupported);  // there are no handles to nodes, only their number
  *count = graph->nodes.size();
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long /*flags*/) {
  if (exec == nullptr || graph == nullptr) return report(cudaErrorInvalidValue);
  if (sticky_error() != cudaSuccess) return report(sticky_error());
  auto result = std::make_unique<CUgraphExec_st>();
  result->nodes = graph->nodes;
  result->awaited.resize(graph->nodes.size());
  result->waits.resize(graph->nodes.size());
  std::map<uint64_t, size_t> lane_of;
  for (size_t i = 0; i < result->nodes.size(); ++i) {
    const hostcuda::GraphNode& node = result->nodes[i];
    auto [lane, fresh] = lane_of.try_emplace(node.stream, result->lanes.size());
    if (fresh) result->lanes.emplace_back();
    result->lanes[lane->second].nodes.push_back(i);
    for (size_t dependency : node.dependencies) {
      if (result->nodes[dependency].stream == node.stream) continue;  // earlier in the same lane
      result->awaited[dependency] = true;
      result->waits[i].push_back(dependency);
    }
  }
  std::lock_guard lock(runtime().mutex);
  for (size_t i = 1; i < result->lanes.size(); ++i) {
    result->lanes[i].stream = std::make_unique<CUstream_st>(runtime().next_stream_id++, false);
  }
  *exec = result.release();
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t handle) {
  if (exec == nullptr) return report(cudaErrorInvalidValue);
  std::lock_guard lock(runtime().mutex);
  CUstream_st* stream = hostcuda::find_stream(handle);
  if (stream == nullptr) return report(cudaErrorInvalidResourceHandle);
  if (stream->capture != nullptr) {  // child graphs are not implemented
    hostcuda::invalidate(*stream->capture);
    return report(cudaErrorStreamCaptureUnsupported);
  }
  if (sticky_error() != cudaSuccess) return report(sticky_error());

  // One launch at a time: this one begins after the last one, on whatever stream that was.
  auto begin = std::make_shared<hostcuda::Marker>();
  auto end = std::make_shared<hostcuda::Marker>();
  std::vector<MarkerPtr> done(exec->nodes.size());
  for (size_t i = 0; i < done.size(); ++i) {
    if (exec->awaited[i]) done[i] = std::make_shared<hostcuda::Marker>();
  }
  std::vector<MarkerPtr> lane_ends;
  for (size_t i = 1; i < exec->lanes.size(); ++i) {
    CUgraphExec_st::Lane* lane = &exec->lanes[i];
    lane->stream->push([=] {
      begin->wait();
      hostcuda::run_lane(*exec, *lane, done);
    });
    lane_ends.push_back(lane->stream->push_marker());
  }
  hostcuda::push_ordered(*stream, [=, last = exec->last_launch] {
    if (last != nullptr) last->wait();
    begin->complete();
    if (!exec->lanes.empty()) hostcuda::run_lane(*exec, exec->lanes[0], done);
    for (const MarkerPtr& lane_end : lane_ends) lane_end->wait();
    end->complete();
  });
  exec->last_launch = end;
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  if (graph == nullptr) return report(cudaErrorInvalidValue);
  delete graph;
  return report(sticky_error());
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  if (exec == nullptr) return report(cudaErrorInvalidValue);
  if (exec->last_launch != nullptr) exec->last_launch->wait();
  delete exec;
  return report(sticky_error());
}
