#include "apps/training/session.h"

#include <algorithm>
#include <cstring>

#include "engine/passes/passes.h"
#include "engine/runtime/cuda_check.h"
#include "engine/runtime/host_step.h"
#include "layers/native_layout.h"

namespace lathe {

Stream::Stream() {
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cannot make a stream");
}
Stream::~Stream() { cudaStreamDestroy(stream_); }

Event::Event() {
  check_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cannot make an event");
}
Event::~Event() { cudaEventDestroy(event_); }

PinnedBuffer::PinnedBuffer(int64_t bytes) {
  void* data = nullptr;
  check_cuda(cudaMallocHost(&data, static_cast<size_t>(std::max<int64_t>(bytes, 1))),
             "no page-locked memory");
  data_ = static_cast<std::byte*>(data);
}
PinnedBuffer::~PinnedBuffer() { cudaFreeHost(data_); }

namespace {

int64_t largest_batch(const std::map<std::pair<int64_t, StepRole>, Program>& programs) {
  int64_t most = 0;
  for (const auto& [key, program] : programs) most = std::max(most, key.first);
  return most;
}

int64_t sample_bytes(const StepSpec& spec) {
  return spec.stage_height * spec.stage_width * 3 + static_cast<int64_t>(sizeof(int64_t) + sizeof(int32_t));
}

}  // namespace

struct TrainingSession::Staging {
  Staging(const StepSpec& spec, int64_t batch)
      : images(batch * spec.stage_height * spec.stage_width * 3),
        samples(batch * 8),
        labels(batch * 4),
        scalars(sizeof(StepScalars)),
        results(2 * sizeof(float)) {}
  PinnedBuffer images, samples, labels, scalars, results;
  Event copied, done;
};

TrainingSession::TrainingSession(const StepSpec& spec, const Options& options, State& state,
                                 std::shared_ptr<Arena> arena)
    : spec_(spec), options_(options), state_(state), arena_(std::move(arena)) {}

TrainingSession::~TrainingSession() { cudaDeviceSynchronize(); }

const Program& TrainingSession::prepare(int64_t batch, StepRole role) {
  auto found = programs_.find({batch, role});
  if (found != programs_.end()) return found->second;
  std::vector<std::string>* notes = programs_.empty() ? &notes_ : nullptr;
  Graph graph = run_passes(training_graph(spec_, batch, role), options_, native_layout(), notes);
  return programs_.emplace(Key{batch, role}, compile(std::move(graph), options_)).first->second;
}

int64_t TrainingSession::arena_bytes() const {
  int64_t most = 0;
  for (const auto& [key, program] : programs_) most = std::max(most, program.memory.packing.peak);
  return most;
}

int64_t TrainingSession::buffer_bytes() const {
  int64_t device = 0;
  for (const auto& [key, program] : programs_) device += kSlots * key.first * sample_bytes(spec_);
  return device + kSlots * largest_batch(programs_) * sample_bytes(spec_);
}

void TrainingSession::bind() {
  for (const auto& [key, program] : programs_) {
    executables_[key] = std::make_unique<Executable>(program, state_, arena_, kSlots);
  }
  for (int slot = 0; slot < kSlots; ++slot) {
    staging_.push_back(std::make_unique<Staging>(spec_, largest_batch(programs_)));
  }
}

void TrainingSession::enqueue(const Batch& batch, StepRole role, const StepScalars& scalars) {
  if (full()) throw std::logic_error("TrainingSession::enqueue: collect() first");
  int slot = next_slot_;
  next_slot_ = (next_slot_ + 1) % kSlots;
  Staging& stage = *staging_[slot];
  Executable& step = *executables_.at({batch.size, role});

  // The slot's last step has been collected, so nobody reads its staging or its device inputs any more.
  int64_t image_bytes = batch.size * spec_.stage_height * spec_.stage_width * 3;
  std::memcpy(stage.images.data(), batch.images, static_cast<size_t>(image_bytes));
  std::memcpy(stage.samples.data(), batch.samples, static_cast<size_t>(batch.size) * sizeof(int64_t));
  std::memcpy(stage.labels.data(), batch.labels, static_cast<size_t>(batch.size) * sizeof(int32_t));
  std::memcpy(stage.scalars.data(), &scalars, sizeof scalars);
  const StepScalars& pinned = *reinterpret_cast<const StepScalars*>(stage.scalars.data());

  cudaStream_t copy =
      options_.overlap ? static_cast<cudaStream_t>(copy_) : static_cast<cudaStream_t>(compute_);
  auto send = [&](const char* name, const void* from, int64_t bytes) {
    check_cuda(cudaMemcpyAsync(step.input(slot, name), from, static_cast<size_t>(bytes),
                               cudaMemcpyHostToDevice, copy),
               name);
  };
  send("images", stage.images.data(), image_bytes);
  send("samples", stage.samples.data(), batch.size * 8);
  send("labels", stage.labels.data(), batch.size * 4);
  send("seed", &pinned.seed, 8);
  send("epoch", &pinned.epoch, 8);
  send("step", &pinned.step, 8);
  send("update_count", &pinned.update_count, 8);
  send("lr", &pinned.lr, 4);
  send("loss_scale", &pinned.loss_scale, 4);
  send("sample_weight", &pinned.sample_weight, 4);
  check_cuda(cudaEventRecord(stage.copied, copy), "copy");
  check_cuda(cudaStreamWaitEvent(compute_, stage.copied, 0), "copy");

  step.run(slot, compute_);
  auto* results = reinterpret_cast<float*>(stage.results.data());
  for (auto [name, to] : {std::pair("loss_sum", results), std::pair("correct", results + 1)}) {
    check_cuda(cudaMemcpyAsync(to, step.output(slot, name), sizeof(float), cudaMemcpyDeviceToHost, compute_),
               name);
  }
  check_cuda(cudaEventRecord(stage.done, compute_), "training step");
  under_way_.push_back({slot, batch.size});
  if (!options_.overlap) check_cuda(cudaStreamSynchronize(compute_), "training step");
}

StepResult TrainingSession::collect() {
  Pending pending = under_way_.front();
  under_way_.pop_front();
  Staging& stage = *staging_[pending.slot];
  check_cuda(cudaEventSynchronize(stage.done), "training step");
  throw_host_step_error();
  const auto* results = reinterpret_cast<const float*>(stage.results.data());
  return {results[0], results[1], pending.samples};
}

}  // namespace lathe
