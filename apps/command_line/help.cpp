// --help and --print-config.
#include "apps/command_line/help.h"

#include <fmt/format.h>

#include "engine/runtime/suggest.h"

namespace lathe {
namespace {

constexpr size_t kWidth = 100;

// Words of text filled into lines that start at `indent`.
std::string filled(const std::string& text, size_t indent) {
  std::string result, line;
  size_t start = 0;
  while (start < text.size()) {
    size_t end = std::min(text.find(' ', start), text.size());
    std::string word = text.substr(start, end - start);
    if (!line.empty() && indent + line.size() + 1 + word.size() > kWidth) {
      result += line + "\n" + std::string(indent, ' ');
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    start = end + 1;
  }
  return result + line;
}

std::string option_help(const OptionSpec& option) {
  std::string left = option.letter ? fmt::format("  -{}, --{}", option.letter, option.name)
                                   : fmt::format("      --{}", option.name);
  if (std::string value = value_name(option); !value.empty()) left += " " + value;
  std::string right(option.help);
  if (option.kind == Kind::integer || option.kind == Kind::real)
    right += fmt::format(" ({})", accepted_values(option).substr(2));
  if (!option.fallback.empty() && option.kind != Kind::flag) right += fmt::format(" [{}]", option.fallback);
  constexpr size_t kColumn = 34;
  std::string gap =
      left.size() + 2 > kColumn ? "\n" + std::string(kColumn, ' ') : std::string(kColumn - left.size(), ' ');
  return left + gap + filled(right, kColumn) + "\n";
}

std::string toml_text(const OptionSpec& option, const Setting& setting) {
  if (option.kind == Kind::flag || option.kind == Kind::on_off)
    return setting.value == "on" ? "true" : "false";
  if (option.kind == Kind::integer) return setting.value;
  if (option.kind == Kind::real) {  // TOML wants 1.0 where we say 1
    bool whole = setting.value.find_first_of(".e") == std::string::npos;
    return setting.value + (whole ? ".0" : "");
  }
  std::string quoted = "\"";
  for (char c : setting.value) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace

std::string program_help() {
  std::string text = "lathe " LATHE_VERSION
                     ": trains VGG16, every optimisation a switch\n\nUsage: lathe COMMAND [OPTIONS]\n\n";
  for (const CommandSpec& spec : command_table()) {
    std::string left(spec.name);
    if (!spec.positionals.empty()) left += fmt::format(" {}", spec.positionals);
    text += fmt::format("  {:<28}{}\n", left, spec.summary);
  }
  text += "\nExamples:\n";
  for (const CommandSpec& spec : command_table()) text += fmt::format("  {}\n", spec.examples.front());
  text +=
      "\nlathe COMMAND --help lists a command's options; lathe --version prints the version.\n"
      "Exit codes: 0 done, 1 failure, 2 usage, 3 data, 4 device or memory, 5 loss not finite, 6 target "
      "missed,\n"
      "130 or 143 stopped by a signal, after saving.\n";
  return text;
}

std::string command_help(Command command) {
  const CommandSpec& spec = spec_of(command);
  std::string text =
      fmt::format("lathe {}: {}\n\nUsage: lathe {} [OPTIONS]", spec.name, spec.summary, spec.name);
  if (!spec.positionals.empty()) text += fmt::format(" {}", spec.positionals);
  text += "\n\nExamples:\n";
  for (std::string_view example : spec.examples) text += fmt::format("  {}\n", example);
  std::string_view group;
  std::string sample;
  for (const OptionSpec* option : options_of(command)) {
    if (option->group != group) text += fmt::format("\n{}:\n", option->group);
    group = option->group;
    text += option_help(*option);
  }
  if (command == Command::train) {
    text += "\nPresets:\n";
    for (const Preset& preset : preset_table())
      text += fmt::format("  {:<12}{}\n", preset.name, preset.summary);
    text += "\nMay change with --resume (all else stays as the run was started):\n  ";
    std::string names;
    for (const OptionSpec* option : options_of(command))
      if (option->changes_on_resume) names += fmt::format("{}--{}", names.empty() ? "" : " ", option->name);
    text += filled(names, 2) + "\n";
  }
  if (find_option("config", on(command)))
    text +=
        "\nPrecedence: flag, LATHE_* variable (--batch-size is LATHE_BATCH_SIZE), --config file, preset, "
        "default.\n";
  return text;
}

std::string config_listing(const CommandLine& line) {
  std::string text =
      fmt::format("# lathe {}: every option and where its value comes from\n", spec_of(line.command).name);
  std::string_view group;
  for (const OptionSpec* option : options_of(line.command)) {
    if (option->flag_only) continue;
    if (option->group != group) text += fmt::format("\n# {}\n", option->group);
    group = option->group;
    const Setting& setting = line.settings.at(std::string(option->name));
    std::string origin = to_string(setting.origin);
    if (setting.origin > Origin::fallback && setting.origin < Origin::flag) origin += ": " + setting.where;
    if (setting.value.empty())
      text += fmt::format("# {} is not set\n", option->name);
    else
      text += fmt::format("{:<40}  # {}\n", fmt::format("{} = {}", option->name, toml_text(*option, setting)),
                          origin);
  }
  return text;
}

}  // namespace lathe
