// Work on rungs in a child process: a kernel that crashes, or leaves a CUDA error that stays, ends its child
// alone, and the rest runs in a fresh one.
//
// The child gets the jobs that are left and sends events (protocol.h). What it prints becomes notes. For each job in order: "begin", then
// what the command wants, then "end". It may stop after any "end". "out_of_memory" (with "what") ends the
// command.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "apps/run/console.h"

namespace lathe {

struct ChildEvents {
  // `job` counts from 0; "begin" and "end" are passed on too.
  std::function<void(size_t job, const std::string& event, const nlohmann::json&)> event;
  // The child died within this job: "the process was killed by SIGSEGV
  // (Segmentation fault)".
  std::function<void(size_t job, const std::string& how)> died;
};

// `work` runs in the child and returns its exit code. Throws Error(device) where memory is short, Error(failure) where the child cannot
// begin. Call it before this process has used the device: CUDA does not survive a fork.
void run_in_children(const std::vector<std::string>& jobs,
                     const std::function<int(std::span<const std::string> left)>& work, Console& console,
                     const ChildEvents& events);

// Runs an executable that lies beside this program in the place of `work`. Throws Error(failure) where there
// is none; returns only to the child that it could not start.
std::function<int(std::span<const std::string>)> program_beside(const std::string& name);

}  // namespace lathe
