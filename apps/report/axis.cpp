// Ticks are 1, 2 or 5 times a power of ten, as on paper.
#include "apps/report/axis.h"

#include <fmt/format.h>

namespace lathe {

namespace {

// Values that are equal, or nearly so, get a range around them.
Range widened(Range range) {
  const double size = std::max(std::abs(range.low), std::abs(range.high));
  if (range.high - range.low > 1e-9 * size && range.high > range.low) return range;
  const double half = size > 1e-90 ? size / 2 : 0.5;
  return {range.low - half, range.high + half};
}

}  // namespace

Axis::Axis(double low, double high) : low_(low), high_(high) {
  const double rough = (high - low) / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double factor = rough / power;
  step_ = power * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
}

Axis Axis::tight(Range range, bool whole) {
  const Range wide = widened(range);
  Axis axis(wide.low, wide.high);
  if (whole) axis.step_ = std::max(axis.step_, 1.0);
  return axis;
}

Axis Axis::padded(Range range, bool share) {
  const Range wide = widened(range);
  const double room = 0.06 * (wide.high - wide.low);
  double low = wide.low - room, high = wide.high + room;
  if (range.low >= 0 && range.low < 0.4 * (wide.high - wide.low)) low = 0;
  if (range.low >= 0) low = std::max(low, 0.0);
  if (share && range.high <= 1) high = std::min(high, 1.0);
  return {low, high};
}

std::vector<double> Axis::ticks() const {
  std::vector<double> ticks;
  const double first = std::ceil(low_ / step_ - 1e-9);
  for (int i = 0; i < 8; ++i) {
    const double tick = (first + i) * step_;
    if (tick > high_ + 1e-9 * step_) break;
    ticks.push_back(tick == 0 ? 0 : tick);  // no "-0"
  }
  return ticks;
}

std::string Axis::label(double tick, double factor) const {
  const double value = tick * factor, step = step_ * factor;
  if (std::abs(value) >= 1e6 || step < 1e-4) return fmt::format("{:.3g}", value);
  return fmt::format("{:.{}f}", value, std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9))));
}

std::vector<Point> reduced_points(const std::vector<double>& x, const std::vector<double>& y) {
  constexpr size_t kMost = 1000;
  std::vector<Point> points;
  const size_t count = std::min(x.size(), y.size());
  for (size_t i = 0; i < count; ++i) points.push_back({x[i], y[i]});
  if (count <= kMost) return points;
  std::vector<Point> kept;
  const size_t stretch = (count + kMost / 2 - 1) / (kMost / 2);
  for (size_t begin = 0; begin < count; begin += stretch) {
    const auto first = points.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = points.begin() + static_cast<std::ptrdiff_t>(std::min(begin + stretch, count));
    const auto end = std::stable_partition(first, last, [](const Point& p) { return p.finite(); });
    if (end == first) {
      kept.push_back(*first);  // nothing but a gap
      continue;
    }
    const auto [least, greatest] =
        std::minmax_element(first, end, [](const Point& a, const Point& b) { return a.y < b.y; });
    kept.push_back(*std::min(least, greatest));
    if (least != greatest) kept.push_back(*std::max(least, greatest));
  }
  return kept;
}

}  // namespace lathe
