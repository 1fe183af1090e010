// See page.h.
#include "apps/kernels/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/kernels/select.h"
#include "apps/report/charts.h"
#include "apps/report/html.h"

namespace lathe {
namespace {

// "3 shared_tile": short enough for a bar.
std::string bar_name(const TrialReport& trial) {
  const study::Rung& rung = *trial.rung;
  return fmt::format("{} {}{}", rung.number, rung.name, rung.elements.size() > 1 ? " " + trial.element : "");
}

std::string draw(const BarChart& chart, const std::string& ladder, int number) {
  std::vector<const Bar*> shown;
  double full = chart.full;
  for (const Bar& bar : chart.bars) {
    if (bar.trial->rung->ladder != ladder || bar.trial->number != number) continue;
    shown.push_back(&bar);
    if (chart.full <= 0 && std::isfinite(bar.value)) full = std::max(full, bar.value);
  }
  std::vector<Part> parts;
  for (const Bar* bar : shown)
    parts.push_back({bar_name(*bar->trial), full > 0 ? bar->value / full : 0, bar->shown});
  return bar_chart(chart.title, parts);
}

// The charts of one ladder, those of each problem under its name.
std::string draw_all(const std::vector<BarChart>& charts, const std::string& ladder) {
  std::vector<std::string> shapes;  // by number
  for (const Bar& bar : charts.at(0).bars) {
    if (bar.trial->rung->ladder != ladder) continue;
    const auto number = static_cast<size_t>(bar.trial->number);
    if (number >= shapes.size()) shapes.resize(number + 1);
    if (shapes[number].empty()) shapes[number] = bar.trial->shape;
  }
  std::string body;
  for (size_t number = 0; number < shapes.size(); ++number) {
    body += fmt::format("<h3>{}</h3>\n<div class=\"charts\">\n", html_text(shapes[number]));
    for (const BarChart& chart : charts) body += draw(chart, ladder, static_cast<int>(number));
    body += "</div>\n";
  }
  return body;
}

// Opens to what each source line did.
std::string line_by_line(const std::vector<TracedTrial>& trials, SourceText& source) {
  std::string body;
  for (const TracedTrial& trial : trials)
    for (const auto& kernel : trial.kernels)
      body += html_details(html_text(fmt::format("{}: {}", trial.label(), short_name(kernel.kernel))),
                           page_table(line_rows(kernel, source)));
  return body.empty() ? "" : "<h3>Line by line</h3>\n" + body;
}

}  // namespace

std::string kernels_page(const std::string& title, const std::string& note,
                         const std::vector<std::string>& problems, const std::vector<BarChart>& charts,
                         const std::function<std::string(const std::string& ladder)>& below) {
  std::vector<std::string> ladders;
  for (const Bar& bar : charts.at(0).bars)
    if (ladders.empty() || ladders.back() != bar.trial->rung->ladder)
      ladders.push_back(bar.trial->rung->ladder);
  std::string links, sections, wrong;
  for (const std::string& ladder : ladders) {
    links += fmt::format("<a href=\"#{0}\">{0}</a>\n", html_text(ladder));
    sections += html_section(html_text(ladder), html_text(ladder), draw_all(charts, ladder) + below(ladder));
  }
  for (const std::string& line : problems)
    wrong += "<p class=\"warning\">" + html_text(line, 2000) + "</p>\n";
  const std::string head = fmt::format(
      "<header><div class=\"brand\">Lathe</div><h1>{}</h1>\n<p "
      "class=\"muted\">{}</p>\n<nav>{}</nav></header>\n",
      html_text(title), html_text(note, 2000), links);
  return html_page("Lathe: " + title, head + html_section("wrong", "What is wrong", wrong) + sections);
}

std::string page_table(const Rows& rows) {
  Rows cells = rows;
  std::string numeric(rows[0].size(), 'n');
  numeric.front() = numeric.back() = ' ';  // a name and a text
  for (auto& row : cells)
    for (std::string& cell : row) cell = html_text(cell);
  return html_table(cells, numeric);
}

std::string traced_page(const std::vector<TracedTrial>& trials) {
  const auto chart = [&](const char* title, auto value) {
    BarChart one{title, {}};
    for (const TracedTrial& trial : trials) {
      const double v = value(trial, Summary(trial.kernels));
      one.bars.push_back({&trial, v, std::isfinite(v) && v >= 1000 ? format_count(v) : format_figure(v)});
    }
    return one;
  };
  const std::vector<BarChart> charts = {
      chart("Bytes moved for each byte that has to move",
            [](const TracedTrial& t, const Summary& s) { return s.bytes_moved() / t.least_bytes; }),
      chart("Sectors of 32 bytes a load request of a warp",
            [](const TracedTrial&, const Summary& s) { return s.sectors_per_load(); }),
      chart("Shared-memory passes a request",
            [](const TracedTrial&, const Summary& s) { return s.wavefronts_per_request(); }),
      chart("Useful operations a byte moved",
            [](const TracedTrial& t, const Summary& s) { return t.operations / s.bytes_moved(); })};
  std::string legend = kFigureLegend;
  std::ranges::replace(legend, '\n', ' ');
  SourceText source;
  return kernels_page("The kernels, traced",
                      "Every memory access of every lane, counted as a GPU issues it. " + legend,
                      problem_lines(trials), charts, [&](const std::string& ladder) {
                        const std::vector<TracedTrial> own = of_ladder(trials, ladder);
                        return page_table(figure_rows(own)) + line_by_line(own, source);
                      });
}

}  // namespace lathe
