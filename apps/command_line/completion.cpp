// Shell completion: each shell's script holds the commands, their options and their choices as data.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/command_line/help.h"
#include "engine/runtime/error.h"
#include "engine/runtime/suggest.h"

namespace lathe {
namespace {

std::vector<std::string_view> choices_of(const OptionSpec& option) {
  if (option.kind == Kind::on_off) return {"on", "off"};
  return option.choices;
}

std::string first_words() {
  std::string words;
  for (const CommandSpec& spec : command_table()) {
    std::string word(spec.name.substr(0, spec.name.find(' ')));
    if (words.find(word) == std::string::npos) words += (words.empty() ? "" : " ") + word;
  }
  return words;
}

std::string flag_words(Command command) {
  std::string words;
  for (const OptionSpec* option : options_of(command)) {
    if (option->letter) words += fmt::format("-{} ", option->letter);
    words += fmt::format("--{} ", option->name);
  }
  if (!words.empty()) words.pop_back();
  return words;
}

// One function for bash, which zsh runs through bashcompinit.
std::string bash_script() {
  std::string flags, values;
  for (const CommandSpec& spec : command_table())
    flags += fmt::format("        \"{}\") words=\"{}\" ;;\n", spec.name,
                         spec.command == Command::completion ? "bash zsh fish" : flag_words(spec.command));
  for (const OptionSpec& option : option_table())
    if (auto choices = choices_of(option); !choices.empty())
      values += fmt::format("      --{}) words=\"{}\" ;;\n", option.name, fmt::join(choices, " "));
    else if (option.kind == Kind::integer || option.kind == Kind::real)
      values += fmt::format("      --{}) return ;;\n", option.name);
  return fmt::format(R"(_lathe() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
  local command="${{COMP_WORDS[1]}}" words=""
  COMPREPLY=()
  if [[ $command == data && $COMP_CWORD -gt 2 ]]; then command="data ${{COMP_WORDS[2]}}"; fi
  if [[ $COMP_CWORD -eq 1 ]]; then
    words="{0} help --help --version"
  elif [[ $command == data ]]; then
    words="check preview export"
  else
    case "$previous" in
{2}    esac
    if [[ -z $words ]]; then
      if [[ $current != -* && $command != completion ]]; then return; fi
      case "$command" in
{1}      esac
    fi
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _lathe lathe
)",
                     first_words(), flags, values);
}

std::string zsh_script() {
  return "#compdef lathe\n# source <(lathe completion zsh)\nautoload -U +X bashcompinit && bashcompinit\n" +
         bash_script();
}

std::string quoted(std::string_view text) {
  std::string result = "'";
  for (char c : text) result += c == '\'' ? std::string("\\'") : std::string(1, c);
  return result + "'";
}

std::string fish_script() {
  std::string text = "# lathe completion for fish\ncomplete -c lathe -e\n";
  std::string seen;
  for (const CommandSpec& spec : command_table()) {
    size_t space = spec.name.find(' ');
    std::string first(spec.name.substr(0, space));
    if (space == std::string_view::npos) {
      text += fmt::format("complete -c lathe -f -n __fish_use_subcommand -a {} -d {}\n", first,
                          quoted(spec.summary));
    } else {
      if (seen != first) text += fmt::format("complete -c lathe -f -n __fish_use_subcommand -a {}\n", first);
      std::string action(spec.name.substr(space + 1));
      text += fmt::format(
          "complete -c lathe -f -n '__fish_seen_subcommand_from {}; and not __fish_seen_subcommand_from "
          "check preview export' -a {} -d {}\n",
          first, action, quoted(spec.summary));
      seen = first;
    }
    std::string last(spec.name.substr(space == std::string_view::npos ? 0 : space + 1));
    std::string condition = fmt::format("-n '__fish_seen_subcommand_from {}'", last);
    if (spec.command == Command::completion)
      text += fmt::format("complete -c lathe -f {} -a 'bash zsh fish'\n", condition);
    for (const OptionSpec* option : options_of(spec.command)) {
      text += fmt::format("complete -c lathe {} -l {}", condition, option->name);
      if (option->letter) text += fmt::format(" -s {}", option->letter);
      auto choices = choices_of(*option);
      if (!choices.empty())
        text += fmt::format(" -x -a '{}'", fmt::join(choices, " "));
      else if (option->kind == Kind::integer || option->kind == Kind::real)
        text += " -x";
      else if (option->kind == Kind::text)
        text += " -r";
      text += fmt::format(" -d {}\n", quoted(option->help));
    }
  }
  return text;
}

}  // namespace

std::string completion_script(const std::vector<std::string>& positionals) {
  const std::vector<std::string> shells = {"bash", "zsh", "fish"};
  if (positionals.size() != 1) throw Error(ExitCode::usage, "completion: name one shell: bash, zsh or fish");
  if (positionals[0] == "bash") return bash_script();
  if (positionals[0] == "zsh") return zsh_script();
  if (positionals[0] == "fish") return fish_script();
  throw Error(ExitCode::usage, fmt::format("completion: '{}' is not accepted: bash, zsh or fish{}",
                                           positionals[0], did_you_mean(positionals[0], shells)));
}

}  // namespace lathe
