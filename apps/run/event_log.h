// events.jsonl: the versioned, machine-readable record of a run (docs/design.md, section 4).
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "apps/run/line_file.h"

namespace lathe {

struct RunStartEvent {
  std::vector<std::string> command_line;
  std::string folder;
  uint64_t seed = 0;
  int64_t resumed_at_step = 0;  // 0: a new run; else this many steps were done before
};

struct SwitchEvent {
  std::string name, requested, effective, reason;
};

// One update of the parameters.
struct StepEvent {
  int64_t step = 0, epoch = 0;  // both count from 1
  double loss = 0, lr = 0, loss_scale = 1;
  double step_ms = 0, data_wait_ms = 0, img_s = 0;
};

struct EpochEvent {
  int64_t epoch = 0, step = 0;  // step: the last of the epoch
  int64_t samples = 0;
  double loss = 0, top1 = 0;  // means over the epoch's samples, as trained (augmented)
  double lr = 0, time_s = 0, img_s = 0, data_wait_ms = 0;
};

struct EvalEvent {
  int64_t epoch = 0;
  std::string split = "val";
  double loss = 0, top1 = 0;  // top1 in 0 … 1
  int64_t correct = 0, samples = 0;
};

struct CheckpointEvent {
  int64_t epoch = 0, step = 0;
  std::string kind;  // best, last or state
  std::string path;
};

struct RunEndEvent {
  std::string status;  // done, failed, stopped, …
  int exit_code = 0;
  int64_t best_epoch = 0;  // 0: there is none
  double time_s = 0;
};

// One JSON object a line. Numbers have full precision in every locale; NaN and infinity become null.
// A write that fails throws Error(failure). Opened again, as --resume does, it appends.
class EventLog {
 public:
  explicit EventLog(const std::filesystem::path& path) : file_(path) {}

  void write(const RunStartEvent& event);
  void write(const SwitchEvent& event);
  void write(const StepEvent& event);
  void write(const EpochEvent& event);
  void write(const EvalEvent& event);
  void write(const CheckpointEvent& event);
  void warning(const std::string& message);
  void write(const RunEndEvent& event);

 private:
  void write_object(const nlohmann::ordered_json& object);

  LineFile file_;
};

// Now, in UTC, as RFC 3339: "2026-01-31T12:00:00Z".
std::string utc_time();

}  // namespace lathe
