// The commands, the presets, and what the two tables say about themselves.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

#include "apps/command_line/option_table.h"

namespace lathe {

const std::vector<CommandSpec>& command_table() {
  static const std::vector<CommandSpec> table = {
      {Command::train,
       "train",
       "",
       "train VGG16 on pictures",
       {"lathe train", "lathe train --data folder:photos --epochs 20 --target 0.92",
        "lathe train --init vgg16.safetensors --new-head --freeze features --data folder:photos",
        "lathe train --resume auto"}},
      {Command::evaluate,
       "evaluate",
       "",
       "accuracy of trained weights on pictures",
       {"lathe evaluate --weights runs/train/1/weights/best.safetensors --data folder:photos"}},
      {Command::predict,
       "predict",
       "IMAGE...",
       "name what is on pictures",
       {"lathe predict --weights best.safetensors apple.jpg",
        "lathe predict --weights best.safetensors --json photos/*.jpg"}},
      {Command::data_check,
       "data check",
       "",
       "find unreadable, doubled and badly spread pictures before training",
       {"lathe data check --data folder:photos"}},
      {Command::data_preview,
       "data preview",
       "",
       "one picture of what training will see, augmented",
       {"lathe data preview --augment heavy --count 16 --out preview"}},
      {Command::data_export,
       "data export",
       "",
       "write a dataset as a folder of PNG files, train/ and val/ with a folder a class",
       {"lathe data export --data fruit:train=600,val=120 --out fruit_pictures"}},
      {Command::kernels_list,
       "kernels list",
       "[RUNG...]",
       "the ladders of handwritten kernels, rung by rung",
       {"lathe kernels list", "lathe kernels list gemm"}},
      {Command::kernels_check,
       "kernels check",
       "[RUNG...]",
       "run rungs on odd shapes against the expected values",
       {"lathe kernels check", "lathe kernels check gemm/3 softmax --quick"}},
      {Command::kernels_trace,
       "kernels trace",
       "[RUNG...]",
       "examine every memory access: coalescing, bank conflicts, traffic, races",
       {"lathe kernels trace gemm", "lathe kernels trace gemm/3 --lines",
        "lathe kernels trace --html ladders.html"}},
      {Command::kernels_time,
       "kernels time",
       "[RUNG...]",
       "on a GPU time, GFLOP/s and share of the roofline; on a CPU what the traffic predicts",
       {"lathe kernels time gemm", "lathe kernels time --json times.json"}},
      {Command::kernels_explain,
       "kernels explain",
       "RUNG...",
       "a rung's idea, bound and traced figures, and where its source is",
       {"lathe kernels explain gemm/3"}},
      {Command::doctor,
       "doctor",
       "",
       "what this machine has, what works, what is missing",
       {"lathe doctor", "lathe doctor --json"}},
      {Command::completion,
       "completion",
       "bash|zsh|fish",
       "print a shell's completion script",
       {"source <(lathe completion bash)", "lathe completion fish > ~/.config/fish/completions/lathe.fish"}},
      {Command::man, "man", "", "print the manual page", {"lathe man > lathe.1 && man ./lathe.1"}},
  };
  return table;
}

const std::vector<Preset>& preset_table() {
  static const std::vector<Preset> table = {
      {"quick",
       "a quarter of the width and three epochs, for a first look",
       {{"width", "0.25"}, {"epochs", "3"}, {"batch-size", "64"}, {"lr", "0.05"}}},
      {"cifar10",
       "the usual recipe for 32x32 pictures: 200 epochs, SGD 0.1, cosine",
       {{"model", "vgg16_bn"},
        {"head", "linear"},
        {"image-size", "32"},
        {"epochs", "200"},
        {"batch-size", "128"},
        {"optimizer", "sgd"},
        {"lr", "0.1"},
        {"momentum", "0.9"},
        {"weight-decay", "0.0005"},
        {"schedule", "cosine"},
        {"augment", "crop=4,flip=0.5"},
        {"normalize", "cifar10"}}},
      {"classic",
       "VGG16 as published (Simonyan & Zisserman 2014), 224x224",
       {{"model", "vgg16"},
        {"head", "classic"},
        {"image-size", "224"},
        {"epochs", "74"},
        {"batch-size", "256"},
        {"optimizer", "sgd"},
        {"lr", "0.01"},
        {"momentum", "0.9"},
        {"nesterov", "off"},
        {"weight-decay", "0.0005"},
        {"decay", "all"},
        {"schedule", "step"},
        {"lr-step", "25"},
        {"warmup-epochs", "0"},
        {"normalize", "imagenet"}}},
      {"finetune",
       "a new head on frozen features, for --init with ImageNet weights",
       {{"model", "vgg16"},
        {"head", "classic"},
        {"image-size", "224"},
        {"epochs", "10"},
        {"batch-size", "32"},
        {"optimizer", "sgd"},
        {"lr", "0.001"},
        {"schedule", "cosine"},
        {"freeze", "features"},
        {"new-head", "on"},
        {"augment", "rotation=10,zoom=0.1,shift=0.1,flip=0.5"},
        {"normalize", "imagenet"}}},
  };
  return table;
}

const CommandSpec& spec_of(Command command) {
  for (const CommandSpec& spec : command_table())
    if (spec.command == command) return spec;
  throw std::logic_error("a command that is not in the table");
}

std::vector<const OptionSpec*> options_of(Command command) {
  std::vector<const OptionSpec*> options;
  for (const OptionSpec& option : option_table())
    if (option.commands & on(command)) options.push_back(&option);
  return options;
}

const OptionSpec* find_option(std::string_view name, CommandSet commands) {
  for (const OptionSpec& option : option_table())
    if (option.name == name && (option.commands & commands)) return &option;
  return nullptr;
}

std::vector<std::string_view> actions_of(std::string_view first) {
  std::vector<std::string_view> actions;
  for (const CommandSpec& spec : command_table())
    if (size_t space = spec.name.find(' ');
        space != std::string_view::npos && spec.name.substr(0, space) == first)
      actions.push_back(spec.name.substr(space + 1));
  return actions;
}

std::string accepted_values(const OptionSpec& option) {
  switch (option.kind) {
    case Kind::flag:
    case Kind::on_off:
      return "on or off";
    case Kind::integer:
      return fmt::format("a whole number from {:.0f} to {:.0f}", option.least, option.most);
    case Kind::real:
      return fmt::format("a number from {} to {}", option.least, option.most);
    case Kind::choice:
      return fmt::format("one of {}", fmt::join(option.choices, ", "));
    case Kind::text:
      return option.value_name.empty() ? fmt::format("one of {}", fmt::join(option.choices, ", "))
                                       : std::string(option.value_name);
  }
  return "";
}

std::string value_name(const OptionSpec& option) {
  if (option.kind == Kind::flag) return "";
  if (option.kind == Kind::on_off) return "on|off";
  if (!option.value_name.empty()) return std::string(option.value_name);
  return fmt::format("{}", fmt::join(option.choices, "|"));
}

}  // namespace lathe
