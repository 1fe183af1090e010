// Settings into structs. An option that a command lacks leaves its field at nothing.
#include "apps/command_line/config.h"

#include "apps/command_line/checks.h"

namespace lathe {
namespace {

// Reads settings; what this command has no option for is "", 0, off.
struct Reader {
  const Settings& settings;

  std::string text(const std::string& name) const { return settings.has(name) ? settings.text(name) : ""; }
  double real(const std::string& name) const { return settings.has(name) ? settings.real(name) : 0; }
  int64_t integer(const std::string& name) const { return settings.has(name) ? settings.integer(name) : 0; }
  bool on(const std::string& name) const { return settings.has(name) && settings.on(name); }
  std::optional<int64_t> optional_integer(const std::string& name) const {
    return settings.is_set(name) ? std::optional(integer(name)) : std::nullopt;
  }
  std::optional<double> optional_real(const std::string& name) const {
    return settings.is_set(name) ? std::optional(real(name)) : std::nullopt;
  }
};

DataConfig data_config(const Reader& read) {
  return {.spec = read.text("data"),
          .val = read.text("val"),
          .val_split = read.real("val-split"),
          .image_size = static_cast<int>(read.integer("image-size")),
          .augment = read.text("augment"),
          .normalize = read.text("normalize"),
          .shuffle = read.on("shuffle"),
          .drop_last = read.on("drop-last"),
          .decoder = read.text("decoder"),
          .strict_data = read.on("strict-data")};
}

ModelConfig model_config(const Reader& read) {
  std::string freeze = read.text("freeze");
  bool counted = freeze.rfind("first:", 0) == 0;
  return {.model = read.text("model"),
          .head = read.text("head"),
          .width = read.real("width"),
          .dropout = read.real("dropout"),
          .init = read.text("init"),
          .new_head = read.on("new-head"),
          .freeze = counted ? "none" : freeze,
          .freeze_first = counted ? static_cast<int>(parse_integer(freeze.substr(6)).value_or(0)) : 0};
}

OptimizerConfig optimizer_config(const Reader& read) {
  return {.optimizer = read.text("optimizer"),
          .lr = read.real("lr"),
          .momentum = read.real("momentum"),
          .nesterov = read.on("nesterov"),
          .beta1 = read.real("beta1"),
          .beta2 = read.real("beta2"),
          .epsilon = read.real("epsilon"),
          .weight_decay = read.real("weight-decay"),
          .decay_all = read.text("decay") == "all",
          .grad_clip = read.real("grad-clip")};
}

RunConfig run_config(const Reader& read) {
  return {.out = read.text("out"),
          .name = read.text("name"),
          .json = read.on("json"),
          .quiet = read.on("quiet"),
          .verbose = read.on("verbose"),
          .threads = static_cast<int>(read.integer("threads")),
          .seed = static_cast<uint64_t>(read.integer("seed")),
          .settings = read.settings};
}

Options switches(const Reader& read) {
  Options options;
  for (const std::string& name : switch_names())
    if (read.settings.has(name)) set_switch(options, name, read.text(name));
  options.strict = read.on("strict");
  return options;
}

}  // namespace

TrainConfig train_config(const CommandLine& line) {
  Reader read{line.settings};
  return {.data = data_config(read),
          .model = model_config(read),
          .optimizer = optimizer_config(read),
          .schedule = {.schedule = read.text("schedule"),
                       .warmup_epochs = read.real("warmup-epochs"),
                       .lr_step = static_cast<int>(read.integer("lr-step")),
                       .lr_gamma = read.real("lr-gamma")},
          .run = run_config(read),
          .switches = switches(read),
          .epochs = read.optional_integer("epochs"),
          .steps = read.optional_integer("steps"),
          .batch_size = read.integer("batch-size"),
          .accumulate = read.integer("accumulate"),
          .label_smoothing = read.real("label-smoothing"),
          .eval_every = read.integer("eval-every"),
          .patience = read.optional_integer("patience"),
          .target = read.optional_real("target"),
          .save_every = read.integer("save-every"),
          .log_every = read.integer("log-every"),
          .resume = line.resume,
          .dry_run = read.on("dry-run")};
}

EvaluateConfig evaluate_config(const CommandLine& line) {
  Reader read{line.settings};
  return {.weights = read.text("weights"),
          .split = read.text("split"),
          .data = data_config(read),
          .run = run_config(read),
          .switches = switches(read),
          .batch_size = read.integer("batch-size"),
          .target = read.optional_real("target")};
}

PredictConfig predict_config(const CommandLine& line) {
  Reader read{line.settings};
  return {.weights = read.text("weights"),
          .images = line.positionals,
          .data = data_config(read),
          .run = run_config(read),
          .switches = switches(read),
          .batch_size = read.integer("batch-size"),
          .top = static_cast<int>(read.integer("top"))};
}

DataToolConfig data_tool_config(const CommandLine& line) {
  Reader read{line.settings};
  return {.command = line.command,
          .data = data_config(read),
          .run = run_config(read),
          .workers = static_cast<int>(read.integer("workers")),
          .count = read.integer("count")};
}

KernelsConfig kernels_config(const CommandLine& line) {
  Reader read{line.settings};
  const bool list = line.command == Command::kernels_list;  // its --json is a flag
  return {.command = line.command,
          .rungs = line.positionals,
          .json = !list             ? read.text("json")
                  : read.on("json") ? "-"
                                    : "",
          .html = read.text("html"),
          .quick = read.on("quick"),
          .lines = read.on("lines"),
          .quiet = read.on("quiet")};
}

DoctorConfig doctor_config(const CommandLine& line) { return {.json = Reader{line.settings}.on("json")}; }

TrainConfig default_train_config() { return train_config(parse_command_line({"train"}, {})); }

}  // namespace lathe
