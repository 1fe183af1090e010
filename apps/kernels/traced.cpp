// See traced.h.
#include "apps/kernels/traced.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/kernels/protocol.h"

namespace lathe {
namespace {

using hostcuda::trace::Figures;
using hostcuda::trace::KernelTrace;
using hostcuda::trace::Traffic;

constexpr double kSector = 32;  // bytes

void add(Traffic& to, const Traffic& from) {
  to.requests += from.requests, to.lanes += from.lanes, to.bytes += from.bytes;
  to.moved += from.moved, to.ideal += from.ideal;
}

double ratio(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : std::nan("");
}

std::string text(const uint3& v) { return fmt::format("({},{},{})", v.x, v.y, v.z); }

nlohmann::ordered_json number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

}  // namespace

bool TracedTrial::sound() const {
  return wrong.empty() &&
         std::ranges::all_of(kernels, [](const KernelTrace& k) { return k.findings.empty(); });
}

std::vector<TracedTrial> trace_rungs(const std::vector<const study::Rung*>& rungs, Console& console,
                                     bool quiet) {
  return run_trials<TracedTrial>(
      "trace", rungs, program_beside("lathe_traced"), console, quiet,
      [](TracedTrial& trial, const std::string& event, const nlohmann::json& fields) {
        if (event == "kernel") trial.kernels.push_back(fields.at("trace").get<KernelTrace>());
      });
}

std::string short_name(std::string kernel) {
  for (const char* space : {"lathe::", "kernels::", "hostcuda::", "{anonymous}::"})
    for (size_t at; (at = kernel.find(space)) != std::string::npos;)
      kernel.erase(at, std::string_view(space).size());
  return kernel;
}

Summary::Summary(const std::vector<KernelTrace>& kernels) {
  double live = 0, worked = 0;
  for (const KernelTrace& k : kernels) {
    const Figures& f = k.figures;
    add(figures.global_load, f.global_load), add(figures.global_store, f.global_store);
    add(figures.shared_load, f.shared_load), add(figures.shared_store, f.shared_store);
    figures.atomics += f.atomics;
    barriers += k.barriers;
    const auto lanes = static_cast<double>(f.global_load.lanes + f.global_store.lanes + f.shared_load.lanes +
                                           f.shared_store.lanes);
    worked += lanes;
    live += k.idle_lanes < 1 ? lanes / (1 - k.idle_lanes) : lanes;
  }
  idle_lanes = live > 0 ? 1 - worked / live : 0;
}

double Summary::bytes_moved() const {
  return kSector * static_cast<double>(figures.global_load.moved + figures.global_store.moved);
}
int64_t Summary::shared_requests() const {
  return figures.shared_load.requests + figures.shared_store.requests;
}
int64_t Summary::conflicts() const {
  return figures.shared_load.moved + figures.shared_store.moved - figures.shared_load.ideal -
         figures.shared_store.ideal;
}
double Summary::sectors_per_load() const {
  return ratio(figures.global_load.moved, figures.global_load.requests);
}
double Summary::sectors_per_store() const {
  return ratio(figures.global_store.moved, figures.global_store.requests);
}
double Summary::wavefronts_per_request() const {
  return ratio(figures.shared_load.moved + figures.shared_store.moved, shared_requests());
}

nlohmann::ordered_json to_json(const TracedTrial& trial) {
  const Summary sum(trial.kernels);
  nlohmann::ordered_json json{{"rung", trial.rung->id()},
                              {"element", trial.element},
                              {"shape", trial.shape},
                              {"ok", trial.sound()},
                              {"wrong", trial.wrong},
                              {"operations", trial.operations},
                              {"least_bytes", trial.least_bytes},
                              {"bytes_moved", sum.bytes_moved()},
                              {"sectors_per_load", number(sum.sectors_per_load())},
                              {"sectors_per_store", number(sum.sectors_per_store())},
                              {"wavefronts_per_request", number(sum.wavefronts_per_request())},
                              {"bank_conflicts", sum.conflicts()},
                              {"barriers", sum.barriers},
                              {"idle_lanes", sum.idle_lanes},
                              {"intensity", number(trial.operations / sum.bytes_moved())},
                              {"kernels", nlohmann::ordered_json::array()}};
  for (const KernelTrace& kernel : trial.kernels) json["kernels"].push_back(kernel);
  return json;
}

std::string to_line(const KernelTrace& kernel, const hostcuda::trace::Finding& finding) {
  const std::string where = finding.file.empty() ? "" : fmt::format(", {}:{}", finding.file, finding.line);
  return fmt::format("{} in {}, block {}, thread {}{}: {}{}", nlohmann::json(finding.kind).get<std::string>(),
                     kernel.kernel, text(finding.block), text(finding.thread), where, finding.message,
                     finding.count > 1 ? fmt::format(" ({} times)", finding.count) : "");
}

}  // namespace lathe
