// lathe kernels: the ladders of handwritten kernels, listed, checked, traced, timed, explained.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "apps/commands.h"
#include "apps/kernels/output.h"
#include "apps/kernels/select.h"
#include "apps/kernels/subcommands.h"

namespace lathe {
namespace {

int list_kernels(const KernelsConfig& config, const Selection& rungs, Console& console) {
  Output output(config);
  nlohmann::ordered_json json{{"version", 1}, {"rungs", nlohmann::ordered_json::array()}};
  std::vector<std::vector<std::string>> rows = {{"rung", "types", "engine", "title"}};
  for (const study::Rung* rung : rungs) {
    nlohmann::ordered_json elements = nlohmann::ordered_json::array();
    for (study::Element element : rung->elements) elements.push_back(study::name_of(element));
    json["rungs"].push_back({{"rung", rung->id()},
                             {"ladder", rung->ladder},
                             {"number", rung->number},
                             {"name", rung->name},
                             {"elements", elements},
                             {"in_engine", rung->in_engine},
                             {"title", title_of(*rung)},
                             {"source", rung->source()}});
    rows.push_back({rung->id(), elements_of(*rung), rung->in_engine ? "yes" : "", title_of(*rung)});
  }
  if (output.table()) console.result(format_table(rows));
  output.write_json(json, console);
  return 0;
}

}  // namespace

int kernels_tool(const KernelsConfig& config) {
  Console console;
  const Selection rungs = select_rungs(config.rungs);
  // Once here, instead of in each child. (Not with CUDA, which must not be begun before a fork.)
  int devices = 0;
  if (std::string_view(LATHE_BUILD) == "host") cudaGetDeviceCount(&devices);
  int code = 0;
  if (config.command == Command::kernels_list) code = list_kernels(config, rungs, console);
  if (config.command == Command::kernels_check) code = check_kernels(config, rungs, console);
  if (config.command == Command::kernels_trace) code = trace_kernels(config, rungs, console);
  if (config.command == Command::kernels_time) code = time_kernels(config, rungs, console);
  if (config.command == Command::kernels_explain) code = explain_kernels(config, rungs, console);
  console.finish();
  return code;
}

}  // namespace lathe
