// lathe kernels explain: the opening comment of a rung, its traced figures, its neighbours, what to try.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "apps/kernels/output.h"
#include "apps/kernels/select.h"
#include "apps/kernels/subcommands.h"
#include "apps/kernels/tables.h"
#include "engine/runtime/error.h"

namespace lathe {
namespace {

const study::Rung* neighbour(const study::Rung& rung, int step) {
  for (const study::Rung& other : study::rungs())
    if (other.ladder == rung.ladder && other.number == rung.number + step) return &other;
  return nullptr;
}

std::string beside(const char* heading, const study::Rung* other) {
  return other == nullptr ? "" : fmt::format("{:<10}{}  {}\n", heading, other->id(), title_of(*other));
}

std::string explanation(const study::Rung& rung, const std::vector<TracedTrial>& trials) {
  const std::string id = rung.id();
  std::string comment(study::opening_comment(rung));
  while (!comment.empty() && comment.back() == '\n') comment.pop_back();
  std::string text = fmt::format("{}  ({}{})\n\n{}\n\n", id, elements_of(rung),
                                 rung.in_engine ? ", used by --kernels handwritten" : "",
                                 comment.empty() ? "Its source has no opening comment." : comment);
  if (!trials.empty()) {
    text += format_table(figure_rows(trials)) + "\n";
    for (const std::string& line : problem_lines(trials)) text += line + "\n";
  }
  text += fmt::format("{:<10}{}\n", "source", rung.source());
  text += beside("before", neighbour(rung, -1)) + beside("next", neighbour(rung, 1));
  for (const char* action : {"check", "trace --lines", "time"})
    text += fmt::format("{:<10}lathe kernels {} {}\n", std::string_view(action) == "check" ? "try" : "",
                        action, id);
  return text;
}

// Without them where lathe_traced is not there: the rest is worth reading.
std::vector<TracedTrial> figures_of(const Selection& rungs, Console& console, bool quiet) {
  if (std::string_view(LATHE_BUILD) == "cuda") {
    console.note("traced figures: in the host build only (make build)");
    return {};
  }
  try {
    return trace_rungs(rungs, console, quiet);
  } catch (const Error& error) {
    console.warning(std::string("no traced figures: ") + error.what());
    return {};
  }
}

}  // namespace

int explain_kernels(const KernelsConfig& config, const Selection& rungs, Console& console) {
  if (config.rungs.empty())
    throw Error(ExitCode::usage,
                "kernels explain: name a rung, such as gemm/3; lathe kernels list shows them");
  Output output(config);
  const std::vector<TracedTrial> all = figures_of(rungs, console, config.quiet);
  nlohmann::ordered_json json{{"version", 1}, {"rungs", nlohmann::ordered_json::array()}};
  for (const study::Rung* rung : rungs) {
    std::vector<TracedTrial> trials;
    std::ranges::copy_if(all, std::back_inserter(trials),
                         [&](const TracedTrial& t) { return t.rung == rung; });
    nlohmann::ordered_json traced = nlohmann::ordered_json::array();
    for (const TracedTrial& trial : trials) traced.push_back(to_json(trial));
    json["rungs"].push_back({{"rung", rung->id()},
                             {"comment", study::opening_comment(*rung)},
                             {"source", rung->source()},
                             {"in_engine", rung->in_engine},
                             {"traced", traced}});
    if (output.table()) console.result((rung == rungs.front() ? "" : "\n") + explanation(*rung, trials));
  }
  if (output.table() && !all.empty() && !config.quiet) console.note(kFigureLegend);
  output.write_json(json, console);
  return problem_lines(all).empty() ? 0 : 1;
}

}  // namespace lathe
