// Drawing is cheap but not free: a step of a small network takes less than a redraw.
#include "apps/run/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lathe {

namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr int64_t kBarWidth = 16;

std::string bar(const ProgressState& state) {
  const int64_t total = std::max<int64_t>(state.steps, 1);
  const int64_t done = std::clamp<int64_t>(state.step * kBarWidth / total, 0, kBarWidth);
  return "[" + std::string(done, '#') + std::string(kBarWidth - done, '.') + "] ";
}

}  // namespace

Progress::Progress(Console& console, int64_t every, Clock clock)
    : console_(console), every_(std::max<int64_t>(every, 1)), clock_(std::move(clock)) {}

void Progress::step(const ProgressState& state) {
  ++steps_seen_;
  const bool last = state.steps > 0 && state.step >= state.steps;
  if (steps_seen_ % every_ == 0 || last) {
    const std::string line = progress_line(state);
    console_.interactive() ? console_.log_only(line) : console_.note(line);
  }
  if (!console_.interactive()) return;
  const auto now = clock_();
  if (drawn_once_ && now - drawn_ < kRedraw && !last) return;
  drawn_ = now;
  drawn_once_ = true;
  console_.status(bar(state) + progress_line(state));
}

std::string progress_line(const ProgressState& state) {
  std::string line;
  if (state.epochs > 0) line += fmt::format("epoch {}/{}  ", state.epoch, state.epochs);
  line += fmt::format("step {}/{}  loss {:.4f}", state.step, state.steps, state.loss);
  if (std::isfinite(state.accuracy)) line += fmt::format("  top1 {:.1f}%", 100 * state.accuracy);
  line += fmt::format("  {:.{}f} img/s", state.img_s, state.img_s < 10 ? 1 : 0);
  if (std::isfinite(state.data_wait_share))
    line += fmt::format("  wait {:.0f}%", 100 * state.data_wait_share);
  if (state.memory_bytes > 0) line += "  mem " + format_bytes(state.memory_bytes);
  return line + "  left " + format_duration(state.seconds_left);
}

}  // namespace lathe
