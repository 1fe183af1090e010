// The progress of a training run: a bar on a terminal, one plain line every N steps elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "apps/run/console.h"

namespace lathe {

struct ProgressState {
  int64_t epoch = 0, epochs = 0;  // epochs 0: the run counts steps only
  int64_t step = 0, steps = 0;    // of the epoch, or of the run where it counts steps
  double loss = 0;
  double accuracy = 0;  // 0 … 1, NaN: not known yet
  double img_s = 0;
  double data_wait_share = 0;  // 0 … 1 of the time of the last steps
  double memory_bytes = 0;     // 0: not known
  double seconds_left = 0;     // NaN: not known yet
};

class Progress {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  // `every`: a plain line after so many steps (at least 1), to train.log and, without a terminal, to stderr.
  Progress(Console& console, int64_t every, Clock clock = &std::chrono::steady_clock::now);

  // After each step. The bar is redrawn at most ten times a second.
  void step(const ProgressState& state);

 private:
  Console& console_;
  int64_t every_, steps_seen_ = 0;
  Clock clock_;
  std::chrono::steady_clock::time_point drawn_{};
  bool drawn_once_ = false;
};

// "epoch 1/12  step 40/313  loss 1.2130  top1 53.3%  4810 img/s  wait 6%  mem 2.1 GiB  left 0:04"
std::string progress_line(const ProgressState& state);

}  // namespace lathe
