// See tables.h.
#include "apps/kernels/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

namespace lathe {
namespace {

using hostcuda::trace::Figures;
using hostcuda::trace::KernelTrace;

std::vector<std::string> figure_row(const std::string& name, const TracedTrial& trial,
                                    const std::vector<KernelTrace>& kernels) {
  const Summary sum(kernels);
  const double bytes = sum.bytes_moved();
  return {
      name, format_count(static_cast<double>(sum.figures.global_load.requests)),
      format_figure(sum.sectors_per_load()), format_figure(sum.sectors_per_store()), format_traffic(bytes),
      format_figure(trial.least_bytes > 0 ? bytes / trial.least_bytes : std::nan("")),
      format_count(static_cast<double>(sum.shared_requests())), format_figure(sum.wavefronts_per_request()),
      format_count(static_cast<double>(sum.conflicts())), format_count(static_cast<double>(sum.barriers)),
      fmt::format("{:.1f}%", 100 * sum.idle_lanes),
      // One kernel of several does an unknown share of the operations.
      kernels.size() == trial.kernels.size() && bytes > 0 ? format_figure(trial.operations / bytes) : "-"};
}

// Its lines without their ends; empty where it cannot be read. Sets `changed` where it is younger than the
// program.
std::vector<std::string> read_lines(const std::string& file, bool& changed) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> places;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  for (fs::path folder = program.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
    places.push_back(folder / file);
  places.push_back(file);
  for (const fs::path& place : places) {
    if (!fs::is_regular_file(place, error)) continue;
    std::ifstream stream(place);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    if (lines.empty()) continue;
    const auto built = fs::last_write_time(program, error), edited = fs::last_write_time(place, error);
    changed = changed || (!error && edited > built);
    return lines;
  }
  return {};
}

}  // namespace

const char* const kFigureLegend =
    "loads: warps' requests to global memory. sect/ld, sect/st: sectors of 32 bytes a request; 4 for 32 "
    "floats "
    "side by side.\nmoved: these sectors' bytes; x least: over every input read and every output written "
    "once. "
    "shared: requests to\nshared memory; waves: passes a request; conflicts: all passes that bank conflicts "
    "add. idle: lanes that sat "
    "out. op/B: useful operations a byte moved.";

std::string format_count(double count) {
  if (count < 99999.5) return fmt::format("{:.0f}", count);
  if (count < 999.5e3) return fmt::format("{:.0f}k", count / 1e3);
  return count < 999.5e6 ? fmt::format("{:.3g}M", count / 1e6) : fmt::format("{:.3g}G", count / 1e9);
}

std::string format_figure(double value) {
  if (!std::isfinite(value)) return "-";
  return value < 9.995   ? fmt::format("{:.2f}", value)
         : value < 99.95 ? fmt::format("{:.1f}", value)
                         : fmt::format("{:.0f}", value);
}

std::string format_traffic(double bytes) {
  if (bytes < 999.5) return fmt::format("{:.0f} B", bytes);
  return bytes < 999.5e3 ? format_figure(bytes / 1e3) + " kB" : format_figure(bytes / 1e6) + " MB";
}

Rows figure_rows(const std::vector<TracedTrial>& trials) {
  Rows rows = {{"rung", "loads", "sect/ld", "sect/st", "moved", "x least", "shared", "waves", "conflicts",
                "barriers", "idle", "op/B", "shape"}};
  for (const TracedTrial& trial : trials) {
    rows.push_back(figure_row(trial.label(), trial, trial.kernels));
    rows.back().push_back(trial.shape);
    std::vector<std::string> names;  // in order of their first launch; a kernel may have several grids
    for (const KernelTrace& kernel : trial.kernels)
      if (std::ranges::find(names, kernel.kernel) == names.end()) names.push_back(kernel.kernel);
    if (names.size() < 2) continue;
    for (const std::string& name : names) {
      std::vector<KernelTrace> launches;
      std::ranges::copy_if(trial.kernels, std::back_inserter(launches),
                           [&](const KernelTrace& kernel) { return kernel.kernel == name; });
      rows.push_back(figure_row("  " + short_name(name), trial, launches));
    }
  }
  return rows;
}

std::string SourceText::line(const std::string& file, int line) {
  auto found = files_.find(file);
  if (found == files_.end()) found = files_.emplace(file, read_lines(file, changed_)).first;
  if (line < 1 || static_cast<size_t>(line) > found->second.size()) return "";
  const std::string& text = found->second[static_cast<size_t>(line) - 1];
  const size_t start = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(start, text.find_last_not_of(" \t\r") + 1 - start);
}

Rows line_rows(const KernelTrace& kernel, SourceText& source) {
  Rows rows = {{"line", "loads", "sect/ld", "stores", "sect/st", "shared", "waves", "conflicts", "source"}};
  for (const hostcuda::trace::Line& line : kernel.lines) {
    const Figures& f = line.figures;
    KernelTrace alone;
    alone.figures = f;
    const Summary sum({alone});
    const auto count = [](int64_t n) { return n == 0 ? "-" : format_count(static_cast<double>(n)); };
    rows.push_back({fmt::format("{}:{}", line.file.empty() ? "?" : line.file, line.line),
                    count(f.global_load.requests), format_figure(sum.sectors_per_load()),
                    count(f.global_store.requests), format_figure(sum.sectors_per_store()),
                    count(sum.shared_requests()), format_figure(sum.wavefronts_per_request()),
                    count(sum.conflicts()), source.line(line.file, line.line)});
  }
  return rows;
}

std::vector<std::string> problem_lines(const std::vector<TracedTrial>& trials) {
  std::vector<std::string> lines;
  for (const TracedTrial& trial : trials) {
    for (const KernelTrace& kernel : trial.kernels)
      for (const hostcuda::trace::Finding& finding : kernel.findings)
        lines.push_back(trial.label() + ": " + to_line(kernel, finding));
    if (!trial.wrong.empty())
      lines.push_back(trial.label() + (trial.shape.empty() ? "" : ", " + trial.shape) + ": " + trial.wrong);
  }
  return lines;
}

}  // namespace lathe
