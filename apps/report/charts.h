// SVG charts for the reports, coloured by style.h. All text given is escaped here.
// None breaks on no points, one point, NaN, infinities, or a thousand classes.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "apps/run/metrics.h"

namespace lathe {

struct Series {
  std::string name;
  std::vector<double> x, y;  // equally long; points that are not finite leave a gap
  bool dashed = false;
};

struct LineChart {
  std::string title, x_label;
  std::vector<Series> series;      // four colours, then again from the first
  bool percent = false;            // y is 0 … 1, shown as 0 % … 100 %
  bool whole_x = true;             // x counts something, such as epochs
  bool from_zero = false;          // y starts at 0, so that heights compare
  double marked_x = std::nan("");  // a vertical line here, with a dot on each series
  std::string marked_label;
};
std::string line_chart(const LineChart& chart);

struct Part {
  std::string name;
  double value = 0;   // not finite or negative: as 0
  std::string shown;  // the value with its unit
};
// One horizontal bar of all the parts, with a legend of their values and shares.
std::string stacked_bar(const std::string& title, const std::vector<Part>& parts);

// Horizontal bars on a scale of 0 … 1, one a row, with `shown` behind each.
std::string bar_chart(const std::string& title, const std::vector<Part>& bars);

// A proportion with its interval on a scale up to 100 %, and the target where there is one.
std::string interval_bar(double value, Interval interval, std::optional<double> target);

// Confidence against accuracy, bin by bin.
std::string reliability_chart(const Calibration& calibration);

// Rows are the truth, coloured by their share. Beyond 25 classes: a table of the most frequent confusions.
std::string confusion_table(const ConfusionMatrix& matrix, const std::vector<std::string>& classes);

// `classes[index]`, "class 7" where the list is too short.
std::string class_name(const std::vector<std::string>& classes, int64_t index);

}  // namespace lathe
