// Program → running steps: addresses, streams, capture, timing.
#include "engine/runtime/executable.h"

#include <fmt/format.h>

#include <map>
#include <span>

#include "engine/runtime/cuda_check.h"
#include "engine/runtime/host_step.h"

namespace lathe {

Arena::~Arena() { cudaFree(data_); }

void Arena::reserve(int64_t bytes) {
  if (bytes <= bytes_) return;
  if (data_ != nullptr) check_cuda(cudaFree(data_), "arena");
  data_ = nullptr;
  bytes_ = 0;
  void* data = nullptr;
  cudaError_t status = cudaMalloc(&data, static_cast<size_t>(bytes));
  if (status != cudaSuccess) {
    cudaGetLastError();  // the failure is reported here; later calls start clean
    throw Error(ExitCode::device,
                fmt::format("no memory for an arena of {:.1f} MiB: use a smaller --batch-size, "
                            "--image-size or --width",
                            static_cast<double>(bytes) / (1024.0 * 1024.0)));
  }
  data_ = static_cast<std::byte*>(data);
  bytes_ = bytes;
}

struct Executable::Slot {
  std::map<std::string, void*> inputs;
  std::map<std::string, const void*> outputs;
  std::vector<Enqueue> steps;   // empty functions for views
  cudaGraph_t graph = nullptr;  // recorded at the first run under --capture on
  cudaGraphExec_t replay = nullptr;

  ~Slot() {
    if (replay != nullptr) cudaGraphExecDestroy(replay);
    if (graph != nullptr) cudaGraphDestroy(graph);
  }
};

namespace {

void* allocate(int64_t bytes, const std::string& what) {
  void* data = nullptr;
  check_cuda(cudaMalloc(&data, static_cast<size_t>(bytes)),
             fmt::format("no memory for {} ({} bytes)", what, bytes));
  return data;
}

Enqueue poison_after(Enqueue step, std::vector<std::pair<void*, int64_t>> dead) {
  return [step, dead](cudaStream_t stream) {
    if (step) step(stream);
    for (const auto& [data, bytes] : dead) {
      check_cuda(cudaMemsetAsync(data, 0xFF, static_cast<size_t>(bytes), stream), "poison");
    }
  };
}

}  // namespace

Executable::Executable(const Program& program, State& state, std::shared_ptr<Arena> arena, int slots,
                       bool poison)
    : program_(program), arena_(std::move(arena)) {
  const Graph& graph = program.graph;
  const MemoryPlan& memory = program.memory;
  arena_->reserve(memory.packing.peak);

  std::vector<void*> constants(graph.value_count(), nullptr);
  for (int id = 0; id < graph.value_count(); ++id) {
    const ValueInfo& info = graph.info({id});
    if (info.storage == Storage::state) state.add(info.name, info.type);
    if (info.storage != Storage::constant) continue;
    constants[id] = allocations_.emplace_back(allocate(info.type.bytes(), "a constant"));
    std::vector<float> fill(static_cast<size_t>(info.type.shape.elements()), static_cast<float>(info.fill));
    check_cuda(cudaMemcpy(constants[id], fill.data(), fill.size() * sizeof(float), cudaMemcpyHostToDevice),
               info.name);
  }

  for (int index = 0; index < slots; ++index) {
    Slot& slot = *slots_.emplace_back(std::make_unique<Slot>());
    std::vector<void*> address(graph.value_count(), nullptr);
    for (int id = 0; id < graph.value_count(); ++id) {
      const ValueInfo& info = graph.info({id});
      if (info.storage != Storage::input) continue;
      address[id] = allocations_.emplace_back(allocate(info.type.bytes(), info.name));
      slot.inputs[info.name] = address[id];
    }
    for (int id = 0; id < graph.value_count(); ++id) {
      int owner = memory.owner_of_value[id];
      const ValueInfo& info = graph.info({owner});
      if (info.storage == Storage::input) address[id] = address[owner];
      if (info.storage == Storage::state) address[id] = state.data(info.name);
      if (info.storage == Storage::constant) address[id] = constants[owner];
      int buffer = memory.buffer_of_value[id];
      if (buffer >= 0) address[id] = arena_->data() + memory.packing.offsets[buffer];
    }
    for (size_t step = 0; step < program.steps.size(); ++step) {
      const PlannedStep& planned = program.steps[step];
      if (!planned.prepared.bind) {
        slot.steps.emplace_back();
        continue;
      }
      Bindings bindings;
      for (Value input : graph.node(planned.node).inputs) bindings.inputs.push_back(address[input.id]);
      for (Value output : graph.node(planned.node).outputs) bindings.outputs.push_back(address[output.id]);
      int workspace = memory.workspace_of_step[step];
      if (workspace >= 0) bindings.workspace = arena_->data() + memory.packing.offsets[workspace];
      slot.steps.push_back(planned.prepared.bind(bindings));
    }
    for (size_t step = 0; poison && step < program.steps.size(); ++step) {
      std::vector<std::pair<void*, int64_t>> dead;
      for (size_t buffer = 0; buffer < memory.lifetimes.size(); ++buffer) {
        if (memory.lifetimes[buffer].last != static_cast<int>(step) + 1) continue;
        dead.emplace_back(arena_->data() + memory.packing.offsets[buffer], memory.lifetimes[buffer].bytes);
      }
      if (!dead.empty()) slot.steps[step] = poison_after(slot.steps[step], dead);
    }
    for (const auto& [name, value] : graph.outputs()) slot.outputs[name] = address[value.id];
  }
}

Executable::~Executable() {
  cudaDeviceSynchronize();  // nothing may still be running on what is freed here
  slots_.clear();
  for (void* allocation : allocations_) cudaFree(allocation);
}

void* Executable::input(int slot, const std::string& name) const { return slots_.at(slot)->inputs.at(name); }

const void* Executable::output(int slot, const std::string& name) const {
  return slots_.at(slot)->outputs.at(name);
}

void Executable::run(int index, cudaStream_t stream) {
  Slot& slot = *slots_.at(index);
  auto enqueue = [&] {
    for (const Enqueue& step : slot.steps) {
      if (step) step(stream);
    }
  };
  if (!program_.options.capture) {
    enqueue();
    check_cuda(cudaGetLastError(), "training step");
    return;
  }
  if (slot.replay == nullptr) {
    check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "graph capture");
    enqueue();
    check_cuda(cudaStreamEndCapture(stream, &slot.graph), "graph capture");
    check_cuda(cudaGraphInstantiate(&slot.replay, slot.graph, 0), "graph capture");
  }
  check_cuda(cudaGraphLaunch(slot.replay, stream), "graph launch");
}

std::vector<double> Executable::run_timed(int index, cudaStream_t stream) {
  Slot& slot = *slots_.at(index);
  std::vector<cudaEvent_t> events(slot.steps.size() + 1);
  for (cudaEvent_t& event : events) check_cuda(cudaEventCreate(&event), "event");
  check_cuda(cudaEventRecord(events[0], stream), "event");
  for (size_t step = 0; step < slot.steps.size(); ++step) {
    if (slot.steps[step]) slot.steps[step](stream);
    check_cuda(cudaEventRecord(events[step + 1], stream), "event");
  }
  check_cuda(cudaStreamSynchronize(stream), "training step");
  throw_host_step_error();
  std::vector<double> milliseconds;
  for (size_t step = 0; step < slot.steps.size(); ++step) {
    float elapsed = 0;
    check_cuda(cudaEventElapsedTime(&elapsed, events[step], events[step + 1]), "event");
    milliseconds.push_back(elapsed);
  }
  for (cudaEvent_t event : events) cudaEventDestroy(event);
  return milliseconds;
}

}  // namespace lathe
