// lathe kernels trace: the examination of hostcuda/trace as a table, JSON and a page.
#include <fmt/format.h>

#include <string_view>

#include "apps/kernels/output.h"
#include "apps/kernels/page.h"
#include "apps/kernels/subcommands.h"
#include "apps/kernels/tables.h"
#include "engine/runtime/error.h"

namespace lathe {
namespace {

void show(const std::vector<TracedTrial>& trials, bool lines, Console& console) {
  console.result(format_table(figure_rows(trials)));
  if (!lines) return;
  SourceText source;
  for (const TracedTrial& trial : trials)
    for (const auto& kernel : trial.kernels)
      console.result(fmt::format("\n{}, {}: {}\n{}", trial.label(), trial.shape, kernel.kernel,
                                 format_table(line_rows(kernel, source))));
  if (source.changed())
    console.note(
        "a source was changed after lathe was built: its lines may not be those counted; make build");
}

}  // namespace

int trace_kernels(const KernelsConfig& config, const Selection& rungs, Console& console) {
  if (std::string_view(LATHE_BUILD) == "cuda")
    throw Error(ExitCode::usage, "kernels trace needs the host build, which counts every access: make build");
  Output output(config);
  const std::vector<TracedTrial> trials = trace_rungs(rungs, console, config.quiet);
  const std::vector<std::string> problems = problem_lines(trials);
  nlohmann::ordered_json json{
      {"version", 1}, {"ok", problems.empty()}, {"rungs", nlohmann::ordered_json::array()}};
  for (const TracedTrial& trial : trials) json["rungs"].push_back(to_json(trial));
  if (output.table()) {
    show(trials, config.lines, console);
    if (!problems.empty()) console.result("");
    for (const std::string& line : problems) console.result(line);
    console.result(
        fmt::format("{} trials traced, {}", trials.size(),
                    problems.empty() ? "nothing wrong" : fmt::format("{} wrong", problems.size())));
    if (!config.quiet) console.note(kFigureLegend);
  }
  output.write_json(json, console);
  if (output.wants_html()) output.write_html(traced_page(trials), console);
  return problems.empty() ? 0 : 1;
}

}  // namespace lathe
