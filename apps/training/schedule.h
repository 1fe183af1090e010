// Learning-rate schedules. The rate is a pure function of the position in the run, so a resumed run, which
// knows its position, continues on the same curve; a skipped update moves nothing.
#pragma once

#include <cstdint>

namespace lathe {

enum class ScheduleKind { constant, step, cosine, onecycle };

struct Schedule {
  ScheduleKind kind = ScheduleKind::constant;
  double peak = 0.1;         // the highest rate: --lr
  double warmup_epochs = 0;  // linear rise; may be a fraction; onecycle has a rise of its own and ignores it
  int64_t step_epochs = 30;  // step: epochs between two drops …
  double gamma = 0.1;        // … and the factor of each
};

// Where a run is, counted in updates of the parameters (not in batches: see --accumulate).
struct SchedulePosition {
  int64_t update = 0;  // updates made so far; past the end counts as the last one
  int64_t updates_per_epoch = 1;
  int64_t total_updates = 1;  // of the whole run
};

// The rate of the update that comes next; never negative. With w = warmup_epochs · updates_per_epoch and
// update u of T, every kind but onecycle is multiplied by min(1, (u + 1) / w), so the first rate is not 0.
//   constant  peak
//   step      peak · gamma^floor(epoch / step_epochs), epochs counted from the start of the run   (PyTorch
//   StepLR) cosine    peak · (1 + cos(π · (u − w) / (T − w))) / 2 after the rise (CosineAnnealingLR) onecycle
//   peak / 25 up to peak in the first 30 % of the updates, then down to peak / 250000, both along
//             half a cosine; the momentum stays                      (PyTorch OneCycleLR,
//             cycle_momentum=False)
// Throws Error(usage) for a position without updates, or a rate, warm-up, gamma or step that is not a number
// ≥ 0.
double learning_rate(const Schedule& schedule, const SchedulePosition& position);

}  // namespace lathe
