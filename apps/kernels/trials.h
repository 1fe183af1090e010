// The parent's side of tracing and timing: a report for each trial that a child ran (jobs.h).
#pragma once

#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/kernels/child.h"
#include "apps/kernels/jobs.h"
#include "engine/runtime/error.h"

namespace lathe {

struct TrialReport {
  const study::Rung* rung = nullptr;
  std::string element = {}, shape = {};
  int number = 0;  // among the trials of its rung and element
  double operations = 0, least_bytes = 0;
  std::string wrong = {};  // what was wrong with its results, or how the process died; "" where nothing was

  // "gemm/09_wmma bf16"; without the type where the rung has one
  std::string label() const { return rung->elements.size() == 1 ? rung->id() : rung->id() + " " + element; }
};

// Report is a TrialReport and more, which `more` reads from the events between "trial" and "wrong". Throws as
// run_in_children, but where memory gets short after the first trial: then the reports end with that trial.
// `doing` is for the status line: "trace".
template <typename Report>
std::vector<Report> run_trials(
    const std::string& doing, const std::vector<const study::Rung*>& rungs,
    const std::function<int(std::span<const std::string>)>& work, Console& console, bool quiet,
    const std::function<void(Report&, const std::string& event, const nlohmann::json&)>& more) {
  std::vector<std::string> jobs;
  std::vector<Report> begun, reports;  // begun: by job, before it said anything
  for (const study::Rung* rung : rungs)
    for (study::Element element : rung->elements) {
      jobs.push_back(job_name(*rung, element));
      begun.emplace_back();
      begun.back().rung = rung;
      begun.back().element = study::name_of(element);
    }
  int trials = 0;         // of the current job
  bool finished = false;  // the last of them
  const auto finish = [&](const std::string& wrong) {
    if (!wrong.empty()) reports.back().wrong = wrong;
    finished = true;
  };
  const auto begin_trial = [&](size_t job) {
    reports.push_back(begun[job]);
    reports.back().number = trials++;
    finished = false;
  };
  ChildEvents events;
  events.event = [&](size_t job, const std::string& event, const nlohmann::json& fields) {
    if (event == "begin") {
      trials = 0;
      if (!quiet)
        console.status(fmt::format("{} {}/{}  {}", doing, job + 1, jobs.size(), begun[job].label()));
    } else if (event == "trial") {
      begin_trial(job);
      fields.at("shape").get_to(reports.back().shape);
      fields.at("operations").get_to(reports.back().operations);
      fields.at("least_bytes").get_to(reports.back().least_bytes);
    } else if (event == "end") {
      if (trials == 0) begin_trial(job);
      if (!finished) finish("ended without a word of its results");
    } else {
      if (trials == 0) begin_trial(job);
      if (event == "wrong") finish(fields.at("message").get<std::string>());
      more(reports.back(), event, fields);
    }
  };
  events.died = [&](size_t job, const std::string& how) {
    if (reports.empty() || reports.back().rung != begun[job].rung ||
        reports.back().element != begun[job].element) {
      trials = 0;
      begin_trial(job);
    }
    finish(how);
  };
  try {
    run_in_children(jobs, work, console, events);
  } catch (const Error& error) {
    if (error.code() != ExitCode::device || reports.size() < 2) throw;
    reports.back().wrong = std::string(error.what()) + "; what comes after it was not run";
  }
  return reports;
}

}  // namespace lathe
