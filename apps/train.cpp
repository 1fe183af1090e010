// lathe train: from pictures to weights and a report.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "apps/commands.h"
#include "apps/open_options.h"
#include "apps/run/arguments.h"
#include "apps/run/metrics.h"
#include "apps/training/gather_report.h"
#include "apps/training/stop.h"
#include "apps/training/trainer.h"
#include "engine/runtime/atomic_file.h"
#include "engine/runtime/error.h"
#include "engine/runtime/threads.h"
#include "layers/augment/augment_options.h"

namespace lathe {
namespace {

OpenOptions training_options(const TrainConfig& config) {
  OpenOptions options = open_options(config.data, config.run.seed);
  // A random resized crop needs more pixels than it delivers; 8/7 is torchvision's 256 for 224.
  bool crops = parse_augment(config.data.augment, config.data.image_size).resized_crop > 0;
  if (crops) options.stage.stage_size = config.data.image_size * 8 / 7;
  return options;
}

std::string switch_line(const std::vector<Switch>& switches) {
  std::string text = "switch ";
  for (const Switch& s : switches) text += fmt::format(" {}={}", s.name, s.effective);
  for (const Switch& s : switches) {
    if (s.effective != s.requested) {
      text += fmt::format("\n         {}={} was asked for: {}", s.name, s.requested, s.reason);
    }
  }
  return text;
}

// --kernels says which operations got another implementation than they were asked for, at least in places.
void add_substitutions(std::vector<Switch>& switches, const std::vector<Substitution>& substitutions) {
  auto kernels =
      std::find_if(switches.begin(), switches.end(), [](const Switch& s) { return s.name == "kernels"; });
  if (kernels == switches.end() || substitutions.empty()) return;
  std::set<std::string> used;
  for (const Substitution& s : substitutions) used.insert(s.operation + "=" + s.used);
  for (const std::string& part : used) kernels->effective += "," + part;
  const Substitution& first = substitutions.front();
  if (kernels->reason.empty()) kernels->reason = first.operation + ": " + first.reason;
}

// The start of a run, in the order in which a user asks: what data, what model, what memory, which switches.
std::vector<std::string> opening_lines(const TrainConfig& config, Trainer& trainer,
                                       const std::vector<Switch>& switches) {
  const Datasets& data = trainer.datasets();
  int64_t elements = 0;
  for (const Parameter& parameter : trainer.parameters()) elements += parameter.type.shape.elements();
  const MemoryForecast& memory = trainer.forecast();
  std::vector<std::string> lines;
  lines.push_back(fmt::format("data    {}; train {} / validation {} pictures of {}×{}, {} classes",
                              data.description, data.train->size(),
                              data.validation ? data.validation->size() : 0, data.train->height(),
                              data.train->width(), data.train->classes().size()));
  lines.push_back(
      fmt::format("model   {}, {} head, width {}, {} classes, {} parameters and statistics, {} trained",
                  config.model.model, config.model.head, config.model.width, trainer.spec().model.vgg.classes,
                  elements, trainer.trainable()));
  lines.push_back(
      fmt::format("train   {} epochs of {} pictures, batch {}, {} updates; {} lr {} {}, augment {}",
                  trainer.epochs(), data.train->size(), config.batch_size, trainer.total_updates(),
                  config.optimizer.optimizer, config.optimizer.lr, config.schedule.schedule,
                  to_string(parse_augment(config.data.augment, config.data.image_size))));
  lines.push_back(fmt::format(
      "memory  {} expected: arena {} (lower bound {}, ratio {:.2f}), state {}, buffers {}, "
      "already in use {}",
      format_bytes(static_cast<double>(memory.total())), format_bytes(static_cast<double>(memory.arena)),
      format_bytes(static_cast<double>(memory.arena_bound)),
      static_cast<double>(memory.arena) / static_cast<double>(std::max<int64_t>(memory.arena_bound, 1)),
      format_bytes(static_cast<double>(memory.state)), format_bytes(static_cast<double>(memory.buffers)),
      format_bytes(static_cast<double>(memory.already))));
  lines.push_back(switch_line(switches));
  for (const Substitution& s : trainer.program().substitutions) {
    lines.push_back(
        fmt::format("kernels {}: {} where {} was asked for: {}", s.operation, s.used, s.requested, s.reason));
  }
  for (const std::string& note : trainer.notes()) lines.push_back("pass    " + note);
  return lines;
}

std::vector<OptionRecord> option_records(const Settings& settings) {
  std::vector<OptionRecord> records;
  nlohmann::ordered_json json = settings.to_json();
  for (const auto& [name, value] : json.at("options").items()) {
    const Setting& setting = settings.at(name);
    records.push_back({name, setting.value, to_string(setting.origin)});
  }
  return records;
}

std::vector<std::string> process_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

void write_classes(const RunFolder& folder, const std::vector<std::string>& classes) {
  std::string text;
  for (const std::string& name : classes) text += name + "\n";
  write_file_atomically(folder.classes(), text);
}

std::string accuracy_text(int64_t correct, int64_t samples) {
  Interval interval = wilson_interval(correct, samples);
  return fmt::format("{:.1f}% ({}/{}, 95% {:.1f}-{:.1f})",
                     100.0 * static_cast<double>(correct) / static_cast<double>(samples), correct, samples,
                     100 * interval.low, 100 * interval.high);
}

RunFolder make_folder(const TrainConfig& config) {
  if (!config.resume.empty()) return RunFolder::open(config.resume);
  if (!config.run.out.empty()) return RunFolder::create_at(config.run.out);
  return RunFolder::create("train", config.run.name);
}

int64_t peak_resident_bytes() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

// After the last update: the best weights once more, the table, the report.
int finish(const TrainConfig& config, Trainer& trainer, const RunFolder& folder, Console& console,
           const RunArguments& arguments, const std::vector<Switch>& switches, Trainer::End end,
           const std::string& started) {
  TrainOutcome outcome{.end = end,
                       .started = started,
                       .switches = switches,
                       .arguments = arguments,
                       .peak_bytes = peak_resident_bytes(),
                       .evaluation = std::nullopt};
  bool missed = false;
  if (trainer.datasets().validation) {
    outcome.evaluation = trainer.evaluate_best(folder);
    const EvaluationResult& best = *outcome.evaluation;
    std::string verdict = fmt::format("done    best epoch {}: top1 {}", trainer.position().best_epoch,
                                      accuracy_text(best.correct(), best.samples()));
    if (config.target) {
      double top1 = static_cast<double>(best.correct()) / static_cast<double>(best.samples());
      missed = top1 < *config.target;
      verdict += fmt::format("  target {:.1f}% {}", 100 * *config.target, missed ? "MISSED" : "PASS");
    }
    console.result(verdict);
  } else {
    console.result("done    no validation pictures: the last weights are kept as the best");
  }
  write_train_report(folder.report(), gather_report(config, trainer, folder, outcome));
  const TimeSplit& time = trainer.time_split();
  console.result(fmt::format("time    compute {}  data wait {}  evaluation {}  saving {}",
                             format_duration(time.compute_s), format_duration(time.data_wait_s),
                             format_duration(time.evaluation_s), format_duration(time.saving_s)));
  console.result(fmt::format("memory  {} expected, {} at the peak",
                             format_bytes(static_cast<double>(trainer.forecast().total())),
                             format_bytes(static_cast<double>(outcome.peak_bytes))));
  console.result(fmt::format("wrote   {}\n        {}\n        {}", folder.best_weights().string(),
                             folder.last_weights().string(), folder.report().string()));
  console.result(fmt::format("next    lathe predict --weights {} PICTURE…", folder.best_weights().string()));
  return static_cast<int>(missed ? ExitCode::missed : ExitCode::done);
}

}  // namespace

int train(const TrainConfig& config) {
  const std::string started = utc_time();
  set_threads(config.run.threads);
  std::vector<Switch> switches = effective_switches(config.switches);
  Options options = effective_options(config.switches);
  Console console;
  Trainer trainer(config, options,
                  open_datasets(config.data.spec, config.data.val, training_options(config)));
  add_substitutions(switches, trainer.program().substitutions);
  std::vector<std::string> opening = opening_lines(config, trainer, switches);

  if (!config.dry_run || !config.model.init.empty()) trainer.prepare();  // before a folder is made
  if (config.dry_run) {
    for (const std::string& warning : trainer.datasets().warnings) console.warning(warning);
    for (const std::string& line : opening) console.result(line);
    console.result("dry run: nothing was trained and nothing was written");
    console.finish();
    return static_cast<int>(ExitCode::done);
  }

  StopSignal stop;  // until here a signal ends the program at once: nothing is written yet
  bool resume = !config.resume.empty();
  RunFolder folder = make_folder(config);
  console.log_to(folder.log());
  EventLog events(folder.events());
  RunArguments arguments{process_command_line(), option_records(config.run.settings), machine_facts(),
                         build_facts()};
  int code = 0;
  try {
    if (resume) trainer.resume(folder);
    write_args_json(folder.args(), arguments);  // anew on resuming: --steps and the like may have changed
    write_classes(folder, trainer.spec().model.classes);
    ResultsCsv results(folder.results(), trainer.position().epoch + 1);
    events.write(RunStartEvent{arguments.command_line, folder.path.string(), config.run.seed,
                               trainer.position().updates});
    for (const Switch& s : switches) events.write(SwitchEvent{s.name, s.requested, s.effective, s.reason});
    console.note(fmt::format("lathe {} ({} build)  run {}  seed {}", LATHE_VERSION, LATHE_BUILD,
                             folder.path.string(), config.run.seed));
    for (const std::string& warning : trainer.datasets().warnings) {
      console.warning(warning);
      events.warning(warning);
    }
    for (const std::string& line : opening) console.note(line);
    if (resume)
      console.note(
          fmt::format("resume  after update {} of {}", trainer.position().updates, trainer.total_updates()));

    Trainer::End end = trainer.run(folder, console, events, results);
    if (end == Trainer::End::stopped) {
      code = StopSignal::exit_code();
      console.note(fmt::format("stopped after update {} of {}; saved {}. Go on with: lathe train --resume {}",
                               trainer.position().updates, trainer.total_updates(), folder.state().string(),
                               folder.path.string()));
    } else {
      if (end == Trainer::End::patience) {
        console.note(fmt::format("no better one in the last {} evaluations: stopping", *config.patience));
      }
      code = finish(config, trainer, folder, console, arguments, switches, end, started);
    }
    events.write(RunEndEvent{end == Trainer::End::stopped ? "stopped" : "done", code,
                             trainer.position().best_epoch, trainer.position().seconds});
  } catch (const Error& error) {
    events.write(RunEndEvent{"failed", static_cast<int>(error.code()), trainer.position().best_epoch,
                             trainer.position().seconds});
    throw;
  }
  console.finish();
  return code;
}

}  // namespace lathe
