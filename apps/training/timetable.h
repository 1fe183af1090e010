// Which steps an epoch takes: batch sizes, and which batches make one update together.
#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "apps/training/step_graph.h"

namespace lathe {

struct StepSlot {
  int64_t batch_size = 0;
  StepRole role = StepRole::whole;
  int64_t update_samples = 0;  // samples of all batches of the same update
  bool ends_update() const { return role == StepRole::whole || role == StepRole::last; }
};

// An epoch of `samples` samples (those that are visited: with drop_last whole batches only) in batches of
// `batch_size`, `accumulate` batches an update. The last batch and the last update of an epoch may be
// smaller.
class Timetable {
 public:
  Timetable(int64_t samples, int64_t batch_size, int64_t accumulate)
      : samples_(samples), batch_size_(batch_size), accumulate_(accumulate) {}

  int64_t batches() const { return (samples_ + batch_size_ - 1) / batch_size_; }
  int64_t updates() const { return (batches() + accumulate_ - 1) / accumulate_; }
  StepSlot slot(int64_t batch) const;
  // Every kind of step that occurs among the first `batches` of an epoch.
  std::set<std::pair<int64_t, StepRole>> kinds(int64_t batches) const;

 private:
  int64_t samples_, batch_size_, accumulate_;
};

}  // namespace lathe
