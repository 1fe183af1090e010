// lathe kernels check: every trial of every rung, in child processes; a line a rung.
#include <cuda_runtime.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <new>

#include "apps/kernels/child.h"
#include "apps/kernels/output.h"
#include "apps/kernels/protocol.h"
#include "apps/kernels/select.h"
#include "apps/kernels/subcommands.h"

namespace lathe {
namespace {

struct Verdict {
  int64_t trials = 0, wrong = 0;
  std::string first;     // the first that was wrong, with its shape
  std::string current;   // the trial that runs
  bool stopped = false;  // before all trials had run
};

struct ReaderGone {};

// `lathe kernels check | head -1` should not compute for nobody.
void stop_without_reader() {
  pollfd out{1, 0, 0};
  if (::poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0) throw ReaderGone();
}

// In the child. Events: "trial" before each, "wrong" after one that is. Returns false where the device is of
// no more use.
bool check_rung(const study::Rung& rung, study::Purpose purpose) {
  for (study::Element element : rung.elements) {
    for (const study::Trial& trial : rung.trials(purpose, element)) {
      const std::string what = fmt::format("{} {}", study::name_of(element), trial.shape);
      send("trial", {{"what", what}});
      try {
        const std::string wrong = study::run_trial(trial);
        if (wrong == cudaGetErrorString(cudaErrorMemoryAllocation)) throw std::bad_alloc();
        if (!wrong.empty()) send("wrong", {{"message", wrong}});
      } catch (const std::bad_alloc&) {
        send("out_of_memory", {{"what", what}});
        return false;
      }
      if (cudaDeviceSynchronize() != cudaSuccess) {
        send("stopped");
        return false;
      }
    }
  }
  return true;
}

int check_in_child(const Selection& rungs, study::Purpose purpose) {
  for (const study::Rung* rung : rungs) {
    send("begin");
    const bool usable = check_rung(*rung, purpose);
    send("end");
    if (!usable) break;
  }
  return 0;
}

std::string to_line(const std::string& name, const Verdict& v) {
  const std::string trials = fmt::format("{}  {:>5} trials  ", name, v.trials);
  if (v.wrong == 0) return trials + "ok";
  return trials + (v.stopped ? "STOPPED" : fmt::format("{} WRONG", v.wrong)) + ": " + v.first;
}

nlohmann::ordered_json to_json(const study::Rung& rung, const Verdict& v) {
  return {{"rung", rung.id()},  {"trials", v.trials},   {"wrong", v.wrong},
          {"ok", v.wrong == 0}, {"stopped", v.stopped}, {"first", v.first}};
}

}  // namespace

int check_kernels(const KernelsConfig& config, const Selection& rungs, Console& console) {
  Output output(config);
  const study::Purpose purpose = config.quick ? study::Purpose::check_quick : study::Purpose::check;
  std::vector<std::string> names;
  for (const study::Rung* rung : rungs) names.push_back(rung->id());
  const size_t width = std::ranges::max(names, {}, &std::string::size).size();

  nlohmann::ordered_json json{{"version", 1}, {"ok", true}, {"rungs", nlohmann::ordered_json::array()}};
  int64_t trials = 0;
  size_t bad = 0;
  Verdict verdict;
  const auto tell = [&](size_t job) {
    trials += verdict.trials;
    bad += verdict.wrong > 0;
    json["rungs"].push_back(to_json(*rungs[job], verdict));
    if (!output.table()) return;
    console.result(to_line(fmt::format("{:<{}}", names[job], width), verdict));
    if (config.json.empty()) stop_without_reader();
  };
  const auto is_wrong = [&](const std::string& message) {
    if (verdict.wrong++ == 0) verdict.first = verdict.current + ": " + message;
  };
  ChildEvents events;
  events.event = [&](size_t job, const std::string& event, const nlohmann::json& fields) {
    if (event == "begin") verdict = {};
    if (event == "trial") {
      ++verdict.trials;
      fields.at("what").get_to(verdict.current);
      if (!config.quiet)
        console.status(
            fmt::format("check {}/{}  {}  {}", job + 1, names.size(), names[job], verdict.current));
    }
    if (event == "wrong") is_wrong(fields.at("message").get<std::string>());
    if (event == "stopped") verdict.stopped = true;
    if (event == "end") tell(job);
  };
  events.died = [&](size_t job, const std::string& how) {
    verdict.stopped = true;
    is_wrong(how);
    tell(job);
  };
  const auto work = [&](std::span<const std::string> left) {
    return check_in_child({rungs.end() - static_cast<std::ptrdiff_t>(left.size()), rungs.end()}, purpose);
  };
  try {
    run_in_children(names, work, console, events);
    json["ok"] = bad == 0;
    if (output.table())
      console.result(fmt::format("{} of {} rungs ok, {} trials", names.size() - bad, names.size(), trials));
    output.write_json(json, console);
  } catch (const ReaderGone&) {
  }
  return bad > 0 ? 1 : 0;
}

}  // namespace lathe
