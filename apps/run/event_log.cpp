// The keys here are an interface: add, never rename. A change of meaning raises "version" of run_start.
#include "apps/run/event_log.h"

#include <fmt/chrono.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "apps/run/arguments.h"

namespace lathe {
using nlohmann::ordered_json;

void EventLog::write_object(const ordered_json& object) {
  file_.write_line(object.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

void EventLog::write(const RunStartEvent& event) {
  write_object({{"event", "run_start"},
                {"version", 1},
                {"time", utc_time()},
                {"command", shell_command(event.command_line)},
                {"folder", event.folder},
                {"seed", event.seed},
                {"resumed_at_step", event.resumed_at_step}});
}

void EventLog::write(const SwitchEvent& event) {
  write_object({{"event", "switch"},
                {"name", event.name},
                {"requested", event.requested},
                {"effective", event.effective},
                {"reason", event.reason}});
}

void EventLog::write(const StepEvent& event) {
  write_object({{"event", "step"},
                {"step", event.step},
                {"epoch", event.epoch},
                {"loss", event.loss},
                {"lr", event.lr},
                {"loss_scale", event.loss_scale},
                {"step_ms", event.step_ms},
                {"data_wait_ms", event.data_wait_ms},
                {"img_s", event.img_s}});
}

void EventLog::write(const EpochEvent& event) {
  write_object({{"event", "epoch"},
                {"epoch", event.epoch},
                {"step", event.step},
                {"samples", event.samples},
                {"loss", event.loss},
                {"top1", event.top1},
                {"lr", event.lr},
                {"time_s", event.time_s},
                {"img_s", event.img_s},
                {"data_wait_ms", event.data_wait_ms}});
}

void EventLog::write(const EvalEvent& event) {
  write_object({{"event", "eval"},
                {"epoch", event.epoch},
                {"split", event.split},
                {"loss", event.loss},
                {"top1", event.top1},
                {"correct", event.correct},
                {"samples", event.samples}});
}

void EventLog::write(const CheckpointEvent& event) {
  write_object({{"event", "checkpoint"},
                {"epoch", event.epoch},
                {"step", event.step},
                {"kind", event.kind},
                {"path", event.path}});
}

void EventLog::warning(const std::string& message) {
  write_object({{"event", "warning"}, {"message", message}});
}

void EventLog::write(const RunEndEvent& event) {
  write_object({{"event", "run_end"},
                {"time", utc_time()},
                {"status", event.status},
                {"exit_code", event.exit_code},
                {"best_epoch", event.best_epoch},
                {"time_s", event.time_s}});
}

std::string utc_time() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

}  // namespace lathe
