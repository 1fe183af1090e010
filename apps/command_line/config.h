// What the commands get: plain structs, every value checked. Defaults stand in option_table.cpp alone;
// default_train_config() is `lathe train` without options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/command_line/command_line.h"
#include "engine/runtime/options.h"

namespace lathe {

struct DataConfig {
  std::string spec, val;  // val: "" is not set
  double val_split;
  int image_size;
  std::string augment, normalize;  // "" where the command has none (they come from the weights' metadata)
  bool shuffle, drop_last;
  std::string decoder;  // auto or stb
  bool strict_data;
};

struct ModelConfig {
  std::string model, head;
  double width, dropout;
  std::string init;  // "" is none
  bool new_head;
  std::string freeze;  // none or features; first:K is none with freeze_first = K
  int freeze_first;
};

struct OptimizerConfig {
  std::string optimizer;
  double lr, momentum;
  bool nesterov;
  double beta1, beta2, epsilon, weight_decay;
  bool decay_all;    // biases and batch norm too
  double grad_clip;  // 0 is no limit
};

struct ScheduleConfig {
  std::string schedule;
  double warmup_epochs;
  int lr_step;  // epochs
  double lr_gamma;
};

struct RunConfig {
  std::string out, name;  // "" is not set
  bool json, quiet, verbose;
  int threads;  // 0 is one a usable core
  uint64_t seed;
  Settings settings;  // every option with its origin, for args.json
};

struct TrainConfig {
  DataConfig data;
  ModelConfig model;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  RunConfig run;
  Options switches;
  std::optional<int64_t> epochs, steps;  // exactly one is set
  int64_t batch_size, accumulate;
  double label_smoothing;
  int64_t eval_every;
  std::optional<int64_t> patience;
  std::optional<double> target;
  int64_t save_every, log_every;
  std::string resume;  // folder of the run to go on with; "" is none
  bool dry_run;
};

struct EvaluateConfig {
  std::string weights, split;  // split: auto, val or train
  DataConfig data;
  RunConfig run;
  Options switches;
  int64_t batch_size;
  std::optional<double> target;
};

struct PredictConfig {
  std::string weights;
  std::vector<std::string> images;
  DataConfig data;  // decoder and strict_data alone
  RunConfig run;
  Options switches;
  int64_t batch_size;
  int top;
};

struct DataToolConfig {  // data check, preview, export
  Command command;
  DataConfig data;
  RunConfig run;
  int workers;
  int64_t count;  // pictures to write; preview and export
};

struct KernelsConfig {  // kernels list, check, trace, time, explain
  Command command;
  std::vector<std::string> rungs;  // as typed; none is all
  std::string json, html;          // files to write; "" is none, "-" is stdout
  bool quick, lines, quiet;
};

struct DoctorConfig {
  bool json;
};

TrainConfig train_config(const CommandLine& line);
EvaluateConfig evaluate_config(const CommandLine& line);
PredictConfig predict_config(const CommandLine& line);
DataToolConfig data_tool_config(const CommandLine& line);
KernelsConfig kernels_config(const CommandLine& line);
DoctorConfig doctor_config(const CommandLine& line);

TrainConfig default_train_config();

}  // namespace lathe
