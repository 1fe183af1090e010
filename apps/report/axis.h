// Ranges, round ticks and the thinning of long series, for charts.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace lathe {

// Finite, and small enough that differences and products of a few stay so.
inline bool usable(double value) { return std::abs(value) < 1e100; }

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void add(double value) { low = std::min(low, value), high = std::max(high, value); }
  bool empty() const { return low > high; }
};

class Axis {
 public:
  // From the least to the greatest value; ticks at whole numbers only where the values are counts.
  static Axis tight(Range range, bool whole);
  // With room around; from 0 where the values are near it, and not beyond 1 where they are shares.
  static Axis padded(Range range, bool share);

  double place(double value) const { return (value - low_) / (high_ - low_); }  // 0 … 1 along the axis
  std::vector<double> ticks() const;                                            // round values, at most 8
  std::string label(double tick, double factor = 1) const;                      // as short as the step allows

 private:
  Axis(double low, double high);
  double low_, high_, step_;
};

struct Point {
  double x, y;
  bool finite() const { return usable(x) && usable(y); }
};
// At most about a thousand points: of each stretch of a longer series the least and the greatest stay.
std::vector<Point> reduced_points(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace lathe
