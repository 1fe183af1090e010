// lathe kernels time where there is no GPU: the bounds that the traced traffic sets on well-known ones.
#include <fmt/format.h>

#include <algorithm>

#include "apps/kernels/output.h"
#include "apps/kernels/page.h"
#include "apps/kernels/predict.h"
#include "apps/kernels/subcommands.h"
#include "apps/kernels/tables.h"

namespace lathe {
namespace {

constexpr const char* kNote =
    "Predicted, not measured: the time in which each GPU's data sheet lets it move the traced bytes from "
    "memory "
    "(mem) or do the useful operations (ops), whichever is longer. Caches serve part of the traffic on a "
    "GPU, and "
    "latency, conflicts and launches add to it. lathe kernels time on a GPU (make cuda) measures.";

Bound bound(const Gpu& gpu, const TracedTrial& trial) {
  return bound_on(gpu, trial.element, trial.operations, Summary(trial.kernels).bytes_moved());
}

Rows predicted_rows(const std::vector<TracedTrial>& trials) {
  Rows rows = {{"rung", "operations", "moved"}};
  for (const Gpu& gpu : known_gpus()) rows[0].push_back(gpu.name);
  rows[0].push_back("shape");
  for (const TracedTrial& trial : trials) {
    rows.push_back({trial.label(), format_count(trial.operations),
                    format_traffic(Summary(trial.kernels).bytes_moved())});
    for (const Gpu& gpu : known_gpus()) {
      const Bound b = bound(gpu, trial);
      rows.back().push_back(
          fmt::format("{} {}", format_seconds(b.seconds()), b.by() == std::string("memory") ? "mem" : "ops"));
    }
    rows.back().push_back(trial.shape);
  }
  return rows;
}

nlohmann::ordered_json to_json_predicted(const TracedTrial& trial) {
  nlohmann::ordered_json json{{"rung", trial.rung->id()},
                              {"element", trial.element},
                              {"shape", trial.shape},
                              {"operations", trial.operations},
                              {"bytes_moved", Summary(trial.kernels).bytes_moved()},
                              {"least_bytes", trial.least_bytes},
                              {"ok", trial.sound()},
                              {"wrong", trial.wrong}};
  if (!trial.wrong.empty()) return json;  // it was not counted to its end
  for (const Gpu& gpu : known_gpus()) {
    const Bound b = bound(gpu, trial);
    json["bounds"].push_back({{"gpu", gpu.name},
                              {"arithmetic_us", 1e6 * b.arithmetic_s},
                              {"memory_us", 1e6 * b.memory_s},
                              {"least_memory_us", 1e6 * trial.least_bytes / gpu.bytes_per_s},
                              {"bound", b.by()}});
  }
  return json;
}

BarChart chart_for(const Gpu& gpu, const std::vector<TracedTrial>& trials) {
  BarChart chart{"GFLOP/s that the bound allows: " + gpu.name, {}};
  for (const TracedTrial& trial : trials) {
    const double speed = trial.operations / bound(gpu, trial).seconds() / 1e9;
    chart.bars.push_back({&trial, speed, format_figure(speed)});
  }
  return chart;
}

}  // namespace

int predict_kernels(const KernelsConfig& config, const Selection& rungs, Console& console) {
  Output output(config);
  const std::vector<TracedTrial> all = trace_rungs(rungs, console, config.quiet);
  std::vector<TracedTrial> trials;  // what was counted to its end
  for (const TracedTrial& trial : all)
    if (trial.wrong.empty()) trials.push_back(trial);
  nlohmann::ordered_json json{{"version", 1},
                              {"ok", problem_lines(all).empty()},
                              {"measured", false},
                              {"note", kNote},
                              {"rungs", nlohmann::ordered_json::array()}};
  for (const TracedTrial& trial : all) json["rungs"].push_back(to_json_predicted(trial));
  if (output.table()) {
    console.result(format_table(predicted_rows(trials)));
    for (const std::string& line : problem_lines(all)) console.result(line);
  }
  console.note(kNote);  // also where quiet: nothing else says that these are no measurements
  output.write_json(json, console);
  if (output.wants_html()) {
    std::vector<BarChart> charts;
    for (const Gpu& gpu : known_gpus()) charts.push_back(chart_for(gpu, trials));
    output.write_html(kernels_page("The kernels' bounds, predicted", kNote, problem_lines(all), charts,
                                   [&](const std::string& ladder) {
                                     return page_table(predicted_rows(of_ladder(trials, ladder)));
                                   }),
                      console);
  }
  return problem_lines(all).empty() ? 0 : 1;
}

}  // namespace lathe
