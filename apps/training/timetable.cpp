#include "apps/training/timetable.h"

#include <algorithm>

namespace lathe {

StepSlot Timetable::slot(int64_t batch) const {
  int64_t first = batch / accumulate_ * accumulate_;
  int64_t end = std::min(first + accumulate_, batches());
  StepSlot slot;
  slot.batch_size = std::min(batch_size_, samples_ - batch * batch_size_);
  slot.update_samples = std::min(end * batch_size_, samples_) - first * batch_size_;
  if (end - first > 1) {
    slot.role = StepRole::middle;
    if (batch == first) slot.role = StepRole::first;
    if (batch == end - 1) slot.role = StepRole::last;
  }
  return slot;
}

std::set<std::pair<int64_t, StepRole>> Timetable::kinds(int64_t batches) const {
  std::set<std::pair<int64_t, StepRole>> kinds;
  for (int64_t batch = 0; batch < std::min(batches, this->batches()); ++batch) {
    StepSlot slot = this->slot(batch);
    kinds.emplace(slot.batch_size, slot.role);
  }
  return kinds;
}

}  // namespace lathe
