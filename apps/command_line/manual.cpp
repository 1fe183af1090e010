// The manual page, in troff's man macros.
#include <fmt/format.h>

#include "apps/command_line/help.h"

namespace lathe {
namespace {

// troff reads '\', a leading '.' or '\'', and '-' as its own.
std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else if (c == '\'')
      result += "\\(aq";
    else
      result += c;
  }
  return result.empty() || result[0] != '.' ? result : "\\&" + result;
}

std::string option_entry(const OptionSpec& option) {
  std::string text = ".TP\n";
  if (option.letter) text += fmt::format("\\fB\\-{}\\fR, ", option.letter);
  text += fmt::format("\\fB\\-\\-{}\\fR", escaped(option.name));
  if (std::string value = value_name(option); !value.empty())
    text += fmt::format(" \\fI{}\\fR", escaped(value));
  text += fmt::format("\n{}.", escaped(option.help));
  if (option.kind == Kind::integer || option.kind == Kind::real)
    text += fmt::format(" Takes {}.", escaped(accepted_values(option)));
  if (!option.fallback.empty() && option.kind != Kind::flag)
    text += fmt::format(" Default: {}.", escaped(option.fallback));
  std::string commands;
  for (const CommandSpec& spec : command_table())
    if (option.commands & on(spec.command))
      commands += fmt::format("{}{}", commands.empty() ? "" : ", ", spec.name);
  text += fmt::format(" With {}.\n", escaped(commands));
  if (!option.example.empty()) text += fmt::format("Example: {}\n", escaped(option.example));
  return text;
}

}  // namespace

std::string manual_page() {
  std::string text = ".TH LATHE 1 \"\" \"lathe " LATHE_VERSION
                     "\"\n.SH NAME\nlathe \\- train VGG16, every optimisation a switch\n"
                     ".SH SYNOPSIS\n.B lathe\n.I COMMAND\n[OPTIONS]\n.SH COMMANDS\n";
  for (const CommandSpec& spec : command_table())
    text += fmt::format(".TP\n\\fB{}\\fR {}\n{}.\n", escaped(spec.name), escaped(spec.positionals),
                        escaped(spec.summary));
  std::string_view group;
  for (const OptionSpec& option : option_table()) {
    if (option.group != group) text += fmt::format(".SH \"OPTIONS: {}\"\n", option.group);
    group = option.group;
    text += option_entry(option);
  }
  text += ".SH PRESETS\n";
  for (const Preset& preset : preset_table()) {
    text += fmt::format(".TP\n\\fB{}\\fR\n{}:", escaped(preset.name), escaped(preset.summary));
    for (const auto& [option, value] : preset.values)
      text += fmt::format(" {} {}", escaped(option), escaped(value));
    text += "\n";
  }
  text +=
      ".SH ENVIRONMENT\nEvery option is also a variable: \\-\\-batch\\-size is LATHE_BATCH_SIZE. A flag "
      "beats a\n"
      "variable, which beats a \\-\\-config file, which beats a preset, which beats the default.\n"
      ".SH \"EXIT STATUS\"\n0 done; 1 failure; 2 usage; 3 data; 4 device or memory; 5 loss not finite; 6 "
      "target missed or\n"
      "regression found; 130 or 143 stopped by a signal, after saving.\n.SH EXAMPLES\n.nf\n";
  for (const CommandSpec& spec : command_table())
    for (std::string_view example : spec.examples) text += escaped(example) + "\n";
  return text + ".fi\n";
}

}  // namespace lathe
