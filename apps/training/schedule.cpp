#include "apps/training/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/runtime/error.h"

namespace lathe {
namespace {

// From `start` at share 0 to `end` at share 1 along half a cosine.
double half_cosine(double start, double end, double share) {
  return end + (start - end) * 0.5 * (1 + std::cos(std::numbers::pi * std::clamp(share, 0.0, 1.0)));
}

double onecycle(double peak, double update, double total) {
  constexpr double kRise = 0.3, kStartDivisor = 25, kEndDivisor = 1e4;
  double start = peak / kStartDivisor, end = start / kEndDivisor;
  double top = std::max(0.0, kRise * total - 1), last = total - 1;
  if (update < top) return half_cosine(start, peak, update / top);
  return last > top ? half_cosine(peak, end, (update - top) / (last - top)) : peak;
}

bool usable(double value) { return std::isfinite(value) && value >= 0; }

}  // namespace

double learning_rate(const Schedule& schedule, const SchedulePosition& position) {
  if (position.update < 0 || position.updates_per_epoch < 1 || position.total_updates < 1)
    throw Error(ExitCode::usage, "learning-rate schedule: the run has no updates; give it at least one");
  if (!usable(schedule.peak) || !usable(schedule.warmup_epochs) || !usable(schedule.gamma) ||
      schedule.step_epochs < 1)
    throw Error(ExitCode::usage,
                "learning-rate schedule: rate, warm-up, gamma and step must be numbers from 0 up");

  int64_t update = std::min(position.update, position.total_updates - 1);
  auto done = static_cast<double>(update), total = static_cast<double>(position.total_updates);
  if (schedule.kind == ScheduleKind::onecycle) return onecycle(schedule.peak, done, total);

  double warmup = schedule.warmup_epochs * static_cast<double>(position.updates_per_epoch);
  double rate = schedule.peak;
  if (schedule.kind == ScheduleKind::step) {
    int64_t drops = update / position.updates_per_epoch / schedule.step_epochs;
    rate *= std::pow(schedule.gamma, static_cast<double>(drops));
  }
  if (schedule.kind == ScheduleKind::cosine && done > warmup)
    rate = half_cosine(schedule.peak, 0, (done - warmup) / (total - warmup));
  return done + 1 < warmup ? rate * (done + 1) / warmup : rate;
}

}  // namespace lathe
