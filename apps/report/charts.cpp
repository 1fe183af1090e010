// The geometry of the charts, in a view box of kWidth units that the browser scales.
#include "apps/report/charts.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/report/axis.h"
#include "apps/report/html.h"

namespace lathe {

namespace {

constexpr double kWidth = 400, kHeight = 230;
constexpr double kLeft = 46, kRight = 10, kTop = 20,
                 kBottom = 40;  // around the plot; kTop holds the mark's label

std::string figure(const std::string& title, const std::string& legend, const std::string& svg,
                   double height) {
  const std::string shown = html_text(title);
  return fmt::format(
      "<figure><figcaption>{}{}</figcaption>\n<svg viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"{}\">\n{}</svg>"
      "</figure>\n",
      shown, legend.empty() ? "" : "<div class=\"legend\">" + legend + "</div>", kWidth, height, shown, svg);
}

std::string text(double x, double y, const char* anchor, const std::string& content, const char* kind = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, kind,
                     content);
}

std::string empty_plot(const std::string& title) {
  return figure(title, "",
                fmt::format("<rect class=\"track\" width=\"{}\" height=\"80\" rx=\"8\"/>\n", kWidth) +
                    text(kWidth / 2, 45, "middle", "no data"),
                80);
}

// Cuts to `limit` characters, whole ones.
std::string shortened(const std::string& name, size_t limit) {
  size_t seen = 0;
  for (size_t at = 0; at < name.size(); ++at) {
    if ((static_cast<unsigned char>(name[at]) & 0xC0) != 0x80 && seen++ == limit)
      return name.substr(0, at) + "…";
  }
  return name;
}

double as_share(double value) { return std::isfinite(value) ? std::clamp(value, 0.0, 1.0) : 0.0; }

struct Plot {
  Axis x, y;
  double to_x(double v) const { return kLeft + x.place(v) * (kWidth - kLeft - kRight); }
  double to_y(double v) const { return kHeight - kBottom - y.place(v) * (kHeight - kTop - kBottom); }

  std::string frame(const std::string& x_label, bool percent) const {
    std::string svg;
    for (const double tick : y.ticks()) {
      svg += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kLeft,
                         kWidth - kRight, to_y(tick), to_y(tick));
      svg += text(kLeft - 6, to_y(tick) + 4, "end", percent ? y.label(tick, 100) + "%" : y.label(tick));
    }
    const double bottom = kHeight - kBottom;
    svg += fmt::format("<line class=\"axis\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>\n", kLeft,
                       kWidth - kRight, bottom, bottom);
    for (const double tick : x.ticks()) svg += text(to_x(tick), bottom + 16, "middle", x.label(tick));
    return svg + text((kLeft + kWidth - kRight) / 2, kHeight - 6, "middle", html_text(x_label));
  }
};

// The line of one series, broken at gaps, with dots where there are few points or a point stands alone.
std::string draw_series(const Plot& plot, const Series& given, size_t colour) {
  const std::vector<Point> points = reduced_points(given.x, given.y);
  std::string path, dots;
  const auto is_gap = [&](size_t i) { return i >= points.size() || !points[i].finite(); };
  for (size_t i = 0; i < points.size(); ++i) {
    if (is_gap(i)) continue;
    const bool starts = i == 0 || is_gap(i - 1);
    const double x = plot.to_x(points[i].x), y = plot.to_y(points[i].y);
    path += fmt::format("{}{:.1f},{:.1f}", starts ? "M" : "L", x, y);
    if ((points.size() <= 30 && !given.dashed) || (starts && is_gap(i + 1))) {
      dots += fmt::format("<circle class=\"f{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.2\"/>\n", colour, x, y);
    }
  }
  if (path.empty()) return "";
  return fmt::format("<path class=\"line s{}{}\" d=\"{}\"/>\n", colour, given.dashed ? " dashed" : "", path) +
         dots;
}

std::string draw_mark(const Plot& plot, const LineChart& chart) {
  const double x = plot.to_x(chart.marked_x);
  std::string svg = fmt::format("<line class=\"mark\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>\n", x,
                                x, kTop - 4, kHeight - kBottom);
  const char* anchor = x > kWidth * 0.75 ? "end" : x < kWidth * 0.25 ? "start" : "middle";
  svg += text(x, kTop - 8, anchor, html_text(chart.marked_label), " class=\"label\"");
  for (size_t s = 0; s < chart.series.size(); ++s) {
    const Series& series = chart.series[s];
    for (size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
      if (series.x[i] != chart.marked_x || !usable(series.y[i])) continue;
      svg += fmt::format("<circle class=\"f{} gap\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/>\n", s % 4, x,
                         plot.to_y(series.y[i]));
    }
  }
  return svg;
}

}  // namespace

std::string class_name(const std::vector<std::string>& classes, int64_t index) {
  return index >= 0 && static_cast<size_t>(index) < classes.size() ? classes[index]
                                                                   : fmt::format("class {}", index);
}

std::string line_chart(const LineChart& chart) {
  Range x_range, y_range;
  std::string legend;
  for (size_t s = 0; s < chart.series.size(); ++s) {
    const Series& series = chart.series[s];
    for (size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
      if (usable(series.x[i]) && usable(series.y[i])) x_range.add(series.x[i]), y_range.add(series.y[i]);
    }
    if (chart.series.size() == 1) break;
    legend += fmt::format("<span><i class=\"s{} f{}{}\"></i>{}</span>", s % 4, s % 4,
                          series.dashed ? " dashed" : "", html_text(series.name));
  }
  if (x_range.empty()) return empty_plot(chart.title);
  if (chart.from_zero) y_range.add(0);
  const Plot plot{Axis::tight(x_range, chart.whole_x), Axis::padded(y_range, chart.percent)};
  std::string svg = plot.frame(chart.x_label, chart.percent);
  const bool marked =
      usable(chart.marked_x) && chart.marked_x >= x_range.low && chart.marked_x <= x_range.high;
  for (size_t s = 0; s < chart.series.size(); ++s) svg += draw_series(plot, chart.series[s], s % 4);
  if (marked) svg += draw_mark(plot, chart);
  return figure(chart.title, legend, svg, kHeight);
}

std::string stacked_bar(const std::string& title, const std::vector<Part>& parts) {
  const auto value = [](const Part& part) { return usable(part.value) ? std::max(part.value, 0.0) : 0.0; };
  double total = 0;
  for (const Part& part : parts) total += value(part);
  if (!(total > 0)) return empty_plot(title);
  std::string svg, legend;
  double at = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    const double share = value(parts[p]) / total;
    if (share > 0) {
      svg += fmt::format(
          "<rect class=\"f{} gap\" x=\"{:.2f}\" y=\"4\" width=\"{:.2f}\" height=\"22\"><title>{}: "
          "{}</title></rect>\n",
          p % 5, at * kWidth, share * kWidth, html_text(parts[p].name), html_text(parts[p].shown));
    }
    at += share;
    legend += fmt::format("<span><i class=\"box f{}\"></i>{} {} ({:.1f}%)</span>", p % 5,
                          html_text(parts[p].name), html_text(parts[p].shown), 100 * share);
  }
  return figure(title, legend, svg, 30);
}

std::string bar_chart(const std::string& title, const std::vector<Part>& bars) {
  if (bars.empty()) return empty_plot(title);
  constexpr double kRow = 22, kName = 134, kShown = 50;
  std::string svg;
  double y = 4;
  for (const Part& bar : bars) {
    const double full = kWidth - kName - kShown;
    svg += fmt::format("<g><title>{}: {}</title>", html_text(bar.name), html_text(bar.shown));
    svg += text(kName - 8, y + 12, "end", html_text(shortened(bar.name, 18)), " class=\"label\"");
    svg += fmt::format(
        "<rect class=\"track\" x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"14\" rx=\"3\"/>"
        "<rect class=\"f0\" x=\"{0}\" y=\"{1}\" width=\"{3:.1f}\" height=\"14\" rx=\"3\"/>",
        kName, y, full, as_share(bar.value) * full);
    svg += text(kWidth - kShown + 8, y + 12, "start", html_text(bar.shown)) + "</g>\n";
    y += kRow;
  }
  return figure(title, "", svg, y);
}

std::string interval_bar(double value, Interval interval, std::optional<double> target) {
  const double low = std::min({as_share(interval.low), as_share(value), as_share(target.value_or(1))});
  const Axis axis = Axis::padded({std::floor(low * 10 - 0.5) / 10, 1}, true);
  constexpr double kWide = 460, kSide = 16;
  const auto place = [&](double v) { return kSide + axis.place(as_share(v)) * (kWide - 2 * kSide); };
  std::string svg =
      fmt::format("<rect class=\"track\" x=\"{}\" y=\"22\" width=\"{}\" height=\"10\" rx=\"5\"/>\n", kSide,
                  kWide - 2 * kSide);
  svg += fmt::format(
      "<rect class=\"f0\" opacity=\".4\" x=\"{:.1f}\" y=\"22\" width=\"{:.1f}\" height=\"10\" rx=\"5\"/>\n",
      place(interval.low), std::max(2.0, place(interval.high) - place(interval.low)));
  svg += fmt::format("<circle class=\"f0 gap\" cx=\"{:.1f}\" cy=\"27\" r=\"7\"/>\n", place(value));
  for (const double tick : axis.ticks()) svg += text(place(tick), 50, "middle", axis.label(tick, 100) + "%");
  if (target) {
    const double x = place(*target);
    svg += fmt::format(
        "<line class=\"axis\" stroke-width=\"2\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"16\" y2=\"38\"/>\n", x);
    svg += text(x, 12,
                x > kWide - 70 ? "end"
                : x < 70       ? "start"
                               : "middle",
                fmt::format("target {:.4g}%", 100 * *target), " class=\"label\"");
  }
  return fmt::format(
      "<svg class=\"interval\" viewBox=\"0 0 {} 54\" role=\"img\" aria-label=\"accuracy with its 95% "
      "interval\">\n{}</svg>\n",
      kWide, svg);
}

std::string reliability_chart(const Calibration& calibration) {
  LineChart chart{.title = "Confidence against accuracy",
                  .x_label = "mean confidence of the bin",
                  .series = {},
                  .percent = true,
                  .whole_x = false,
                  .marked_label = ""};
  chart.series.push_back({.name = "measured", .x = {}, .y = {}});
  for (const CalibrationBin& bin : calibration.bins) {
    if (bin.count == 0) continue;
    chart.series[0].x.push_back(bin.confidence);
    chart.series[0].y.push_back(bin.accuracy);
  }
  if (chart.series[0].x.empty()) return empty_plot(chart.title);
  chart.series.push_back({.name = "perfectly calibrated", .x = {0, 1}, .y = {0, 1}, .dashed = true});
  return line_chart(chart);
}

std::string confusion_table(const ConfusionMatrix& matrix, const std::vector<std::string>& classes) {
  const int64_t n = matrix.classes();
  const auto name = [&](int64_t c) { return html_text(class_name(classes, c)); };
  if (n > 25) {
    struct Pair {
      int64_t count, truth, predicted;
    };
    std::vector<Pair> pairs;
    for (int64_t t = 0; t < n; ++t) {
      for (int64_t p = 0; p < n; ++p) {
        if (t != p && matrix.count(t, p) > 0) pairs.push_back({matrix.count(t, p), t, p});
      }
    }
    std::ranges::stable_sort(pairs, std::greater(), &Pair::count);
    if (pairs.size() > 20) pairs.resize(20);
    std::vector<std::vector<std::string>> rows = {{"truth", "predicted as", "times"}};
    for (const Pair& pair : pairs)
      rows.push_back({name(pair.truth), name(pair.predicted), std::to_string(pair.count)});
    return pairs.empty() ? "<p>No confusion at all.</p>\n" : html_table(rows, "  n");
  }
  std::string table = fmt::format("<div class=\"scroll\"><table class=\"heat\"><thead{}><tr><th></th>",
                                  n > 8 ? " class=\"tall\"" : "");
  for (int64_t c = 0; c < n; ++c) table += fmt::format("<th title=\"{0}\">{0}</th>", name(c));
  table += "</tr></thead>\n<tbody>\n";
  const std::vector<ClassMetrics> metrics = matrix.per_class();
  for (int64_t t = 0; t < n; ++t) {
    table += fmt::format("<tr><th title=\"{0}\">{0}</th>", name(t));
    for (int64_t p = 0; p < n; ++p) {
      const int64_t count = matrix.count(t, p);
      const double share =
          metrics[t].support == 0 ? 0 : static_cast<double>(count) / static_cast<double>(metrics[t].support);
      const std::string kind =
          count == 0 ? "zero" : fmt::format("{}{}", t == p ? "hit" : "miss", share > 0.55 ? " strong" : "");
      table += fmt::format("<td class=\"{}\" style=\"--v:{:.2f}\" title=\"{} seen as {}: {}\">{}</td>", kind,
                           0.08 + 0.92 * share, name(t), name(p), count, count);
    }
    table += "</tr>\n";
  }
  return table + "</tbody></table></div>\n<p class=\"note\">Rows: the truth; columns: the prediction.</p>\n";
}

}  // namespace lathe
