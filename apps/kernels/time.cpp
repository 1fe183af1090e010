// lathe kernels time: measured on a GPU; on a CPU what the traced traffic predicts.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "apps/kernels/measure.h"
#include "apps/kernels/output.h"
#include "apps/kernels/page.h"
#include "apps/kernels/predict.h"
#include "apps/kernels/subcommands.h"
#include "apps/kernels/tables.h"

namespace lathe {
namespace {

struct Timed : TrialReport {
  std::vector<double> seconds = {}, library = {};
  Gpu gpu = {};

  Bound bound() const { return bound_on(gpu, element, operations, least_bytes); }
  // Of the library's time; above 1 is faster than it.
  std::optional<double> library_share() const {
    if (library.empty()) return std::nullopt;
    return median(library) / median(seconds);
  }
  double roofline() const { return bound().seconds() / median(seconds); }
};

// In the child. Events: "gpu", "time".
std::string time_trial(const study::Trial& trial) {
  const Gpu gpu = this_gpu();
  send("gpu", {{"name", gpu.name},
               {"fp32", gpu.fp32_flops},
               {"tensor", gpu.tensor_flops},
               {"bytes", gpu.bytes_per_s}});
  const Measured measured = measure(trial);
  send("time", {{"seconds", measured.rung}, {"library", measured.library}});
  return measured.library_problem;
}

void take(Timed& timed, const std::string& event, const nlohmann::json& fields) {
  if (event == "gpu")
    timed.gpu = {fields.at("name"), fields.at("fp32"), fields.at("tensor"), fields.at("bytes")};
  if (event == "time") {
    fields.at("seconds").get_to(timed.seconds);
    fields.at("library").get_to(timed.library);
  }
}

Rows timed_rows(const std::vector<Timed>& timed) {
  Rows rows = {{"rung", "time", "spread", "GFLOP/s", "GB/s", "library", "roofline", "bound", "shape"}};
  for (const Timed& one : timed) {
    if (one.seconds.empty()) continue;
    const double time = median(one.seconds);
    rows.push_back({one.label(), format_seconds(time), fmt::format("{:.1f}%", 100 * spread(one.seconds)),
                    format_figure(one.operations / time / 1e9), format_figure(one.least_bytes / time / 1e9),
                    one.library_share() ? fmt::format("{:.1f}%", 100 * *one.library_share()) : "-",
                    fmt::format("{:.1f}%", 100 * one.roofline()), one.bound().by(), one.shape});
  }
  return rows;
}

nlohmann::ordered_json to_json(const Timed& one) {
  nlohmann::ordered_json json{
      {"rung", one.rung->id()},       {"element", one.element},         {"shape", one.shape},
      {"operations", one.operations}, {"least_bytes", one.least_bytes}, {"wrong", one.wrong},
      {"seconds", one.seconds},       {"library_seconds", one.library}};
  if (one.seconds.empty()) return json;
  const double time = median(one.seconds);
  json["median_us"] = 1e6 * time;
  json["spread"] = spread(one.seconds);
  json["gflop_s"] = one.operations / time / 1e9;
  json["gb_s"] = one.least_bytes / time / 1e9;
  if (one.library_share()) json["library_share"] = *one.library_share();
  json["roofline_share"] = one.roofline();
  json["bound"] = one.bound().by();
  return json;
}

int show_measured(const KernelsConfig& config, const Selection& rungs, Console& console) {
  Output output(config);
  const auto work = [](std::span<const std::string> left) {
    return run_jobs(left, study::Purpose::time, time_trial);
  };
  const std::vector<Timed> timed = run_trials<Timed>("time", rungs, work, console, config.quiet, take);
  const Gpu& gpu = timed.front().gpu;
  const std::string note = fmt::format(
      "{}: {:.1f} TFLOP/s in fp32, {:.0f} in 16 bit on tensor cores, {:.0f} GB/s, each at its highest clock. "
      "spread: the middle half of the samples. library: cuBLASLt's time, measured in turns, as a share of "
      "the "
      "rung's; only matrix products have one yet. roofline: share of the fastest that the GPU allows.",
      gpu.name, gpu.fp32_flops / 1e12, gpu.tensor_flops / 1e12, gpu.bytes_per_s / 1e9);
  const bool ok = std::ranges::all_of(timed, [](const Timed& one) { return one.wrong.empty(); });
  nlohmann::ordered_json json{{"version", 1}, {"ok", ok}, {"measured", true}, {"gpu", gpu.name}};
  BarChart chart{"Share of the roofline", {}, 1};
  std::vector<std::string> problems;
  for (const Timed& one : timed) {
    json["rungs"].push_back(to_json(one));
    if (!one.wrong.empty()) problems.push_back(fmt::format("{}, {}: {}", one.label(), one.shape, one.wrong));
    if (!one.seconds.empty())
      chart.bars.push_back({&one, one.roofline(), fmt::format("{:.1f}%", 100 * one.roofline())});
  }
  if (output.table()) {
    console.result(format_table(timed_rows(timed)));
    for (const std::string& line : problems) console.result(line);
    if (!config.quiet) console.note(note);
  }
  output.write_json(json, console);
  if (output.wants_html())
    output.write_html(kernels_page("The kernels, timed", note, problems, {chart},
                                   [&](const std::string& ladder) {
                                     return page_table(timed_rows(of_ladder(timed, ladder)));
                                   }),
                      console);
  return problems.empty() ? 0 : 1;
}

}  // namespace

int time_kernels(const KernelsConfig& config, const Selection& rungs, Console& console) {
  return std::string_view(LATHE_BUILD) == "cuda" ? show_measured(config, rungs, console)
                                                 : predict_kernels(config, rungs, console);
}

}  // namespace lathe
