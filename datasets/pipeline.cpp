// A ring of batch slots; workers claim a few samples at a time, the consumer takes whole batches in order.
#include "datasets/pipeline.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "engine/runtime/cuda_check.h"
#include "engine/runtime/error.h"

namespace lathe {
namespace {

constexpr int64_t kClaim = 8;  // samples a worker takes at once

}  // namespace

void Pipeline::FreeHost::operator()(void* block) const { cudaFreeHost(block); }

template <typename T>
Pipeline::Pinned<T> Pipeline::pinned(int64_t count) {
  T* block = nullptr;
  check_cuda(cudaMallocHost(&block, count * sizeof(T)), "pinned memory for a batch");
  return Pinned<T>(block);
}

Pipeline::Pipeline(const StagedSet& set, const PipelineOptions& options) : set_(set), options_(options) {
  if (options.batch_size < 1) throw Error(ExitCode::usage, "the batch size must be at least 1");
  if (batches_per_epoch() == 0) {
    throw Error(ExitCode::usage, "the dataset has " + std::to_string(set.size()) +
                                     " pictures, less than one batch of " +
                                     std::to_string(options.batch_size) +
                                     ", and dropping the last batch leaves none: use a smaller batch size");
  }
  slots_.resize(std::max<int64_t>(options.prefetch, 1) + 2);
}

int64_t Pipeline::batches_per_epoch() const {
  const int64_t up = options_.drop_last ? 0 : options_.batch_size - 1;
  return (set_.size() + up) / options_.batch_size;
}

int64_t Pipeline::samples_per_epoch() const {
  return std::min(set_.size(), batches_per_epoch() * options_.batch_size);
}

std::vector<int64_t> Pipeline::order(int64_t epoch) const {
  std::vector<int64_t> order(set_.size());
  std::iota(order.begin(), order.end(), 0);
  if (options_.shuffle) shuffle(order, Random{options_.seed, static_cast<uint64_t>(epoch)});
  return order;
}

void Pipeline::start(int64_t epoch, int64_t offset, int64_t end_epoch) {
  if (offset < 0 || offset > set_.size()) {
    throw Error(ExitCode::data, "cannot start at sample " + std::to_string(offset) +
                                    " of an epoch: the dataset has " + std::to_string(set_.size()) +
                                    "; is it the one that the run began with?");
  }
  stop();
  for (Slot& slot : slots_) {
    slot.state = Slot::empty;
    if (slot.images) continue;
    slot.labels = pinned<int32_t>(options_.batch_size);
    slot.samples = pinned<int64_t>(options_.batch_size);
    slot.images = pinned<uint8_t>(options_.batch_size * set_.sample_bytes());
  }
  opened_ = taken_ = 0;
  epoch_ = epoch, offset_ = offset, end_epoch_ = end_epoch;
  order_.clear();
  stopping_ = false;
  failure_ = nullptr;
  for (int i = 0; i < options_.workers; ++i) workers_.emplace_back([this] { work(); });
}

void Pipeline::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_there_.notify_all();
  workers_.clear();  // joins
}

const Batch* Pipeline::next() {
  const auto began = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  Slot& slot = slots_[taken_ % slots_.size()];
  if (slot.state == Slot::held) {
    throw Error(ExitCode::failure, "Pipeline::next: release a batch before taking another");
  }
  const auto finished = [&] { return opened_ == taken_ && epoch_ >= end_epoch_; };
  if (options_.workers == 0) {
    Claim mine;
    while (!slot.ready() && claim(&mine)) {
      std::exception_ptr error;
      try {
        fill(mine);
      } catch (...) {
        error = std::current_exception();
      }
      finish(mine, error);
    }
  } else {
    batch_ready_.wait(lock, [&] { return slot.ready() || finished() || stopping_; });
  }
  if (!slot.ready()) return nullptr;
  if (slot.error) {
    failure_ = slot.error;
    std::rethrow_exception(failure_);
  }
  slot.state = Slot::held;
  ++taken_;
  slot.batch.wait_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
  return &slot.batch;
}

void Pipeline::release(const Batch* batch) {
  {
    const std::lock_guard lock(mutex_);
    for (Slot& slot : slots_) {
      if (&slot.batch == batch) slot.state = Slot::empty;
    }
  }
  work_there_.notify_all();
}

// Sets up the next batch of the plan in its slot. False if that slot is in use or the plan is at its end.
bool Pipeline::open_batch() {
  Slot& slot = slots_[opened_ % slots_.size()];
  if (slot.state != Slot::empty) return false;
  const int64_t smallest = options_.drop_last ? options_.batch_size : 1;
  if (set_.size() - offset_ < smallest) {
    ++epoch_;
    offset_ = 0;
    order_.clear();
  }
  if (epoch_ >= end_epoch_) {
    batch_ready_.notify_all();
    return false;
  }
  if (order_.empty()) order_ = order(epoch_);

  const int64_t size = std::min(options_.batch_size, set_.size() - offset_);
  std::copy_n(order_.begin() + offset_, size, slot.samples.get());
  slot.batch = {.epoch = epoch_,
                .first = offset_,
                .size = size,
                .last = set_.size() - offset_ - size < smallest,
                .images = slot.images.get(),
                .samples = slot.samples.get(),
                .labels = slot.labels.get(),
                .wait_ms = 0};
  slot.state = Slot::filling;
  slot.claimed = slot.done = 0;
  slot.error = nullptr;
  offset_ += size;
  ++opened_;
  return true;
}

bool Pipeline::claim(Claim* claim) {
  Slot* slot = opened_ > 0 ? &slots_[(opened_ - 1) % slots_.size()] : nullptr;
  if (slot == nullptr || slot->state != Slot::filling || slot->claimed == slot->batch.size) {
    if (!open_batch()) return false;
    slot = &slots_[(opened_ - 1) % slots_.size()];
  }
  *claim = {slot, slot->claimed, std::min(slot->claimed + kClaim, slot->batch.size)};
  slot->claimed = claim->end;
  return true;
}

void Pipeline::fill(const Claim& claim) const {
  const Batch& batch = claim.slot->batch;
  for (int64_t i = claim.begin; i < claim.end; ++i) {
    batch.labels[i] = set_.label(batch.samples[i]);
    set_.load(batch.samples[i], batch.images + i * set_.sample_bytes());
  }
}

void Pipeline::finish(const Claim& claim, std::exception_ptr error) {
  if (error && !claim.slot->error) claim.slot->error = std::move(error);
  claim.slot->done += claim.end - claim.begin;
  if (claim.slot->ready()) batch_ready_.notify_all();
}

void Pipeline::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    Claim mine;
    work_there_.wait(lock, [&] { return stopping_ || claim(&mine); });
    if (stopping_) return;
    lock.unlock();
    std::exception_ptr error;
    try {
      fill(mine);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    finish(mine, error);
    work_there_.notify_one();  // a batch opened here may have more samples to claim
  }
}

}  // namespace lathe
