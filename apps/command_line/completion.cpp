// Shell completion: each shell's script holds the commands, their options and their choices as data.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/command_line/help.h"
#include "engine/runtime/error.h"
#include "engine/runtime/suggest.h"
#include "kernels/study/study.h"

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

// What may stand for the plain words of a command; "" where files do.
std::string plain_words(const CommandSpec& spec) {
  if (spec.command == Command::completion) return "bash zsh fish";
  if (spec.positionals.find("RUNG") == std::string_view::npos) return "";
  std::string words, ladder;
  for (const study::Rung& rung : study::rungs()) {
    if (rung.ladder != ladder) words += (words.empty() ? "" : " ") + (ladder = rung.ladder);
    words += " " + rung.id();
  }
  return words;
}

// "data", "kernels": the commands that are named by two words.
std::vector<std::string_view> two_word_commands() {
  std::vector<std::string_view> names;
  for (const CommandSpec& spec : command_table())
    if (size_t space = spec.name.find(' '); space != std::string_view::npos)
      if (names.empty() || names.back() != spec.name.substr(0, space))
        names.push_back(spec.name.substr(0, space));
  return names;
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
  std::string flags, values, plain, seconds;
  for (const CommandSpec& spec : command_table()) {
    flags += fmt::format("        \"{}\") words=\"{}\" ;;\n", spec.name, flag_words(spec.command));
    if (std::string words = plain_words(spec); !words.empty())
      plain += fmt::format("        \"{}\") words=\"{}\" ;;\n", spec.name, words);
  }
  for (std::string_view first : two_word_commands())
    seconds += fmt::format("      {}) words=\"{}\" ;;\n", first, fmt::join(actions_of(first), " "));
  for (const OptionSpec& option : option_table())
    if (auto choices = choices_of(option); !choices.empty())
      values += fmt::format("      --{}) words=\"{}\" ;;\n", option.name, fmt::join(choices, " "));
    else if (option.kind != Kind::flag)
      values += fmt::format("      --{}) return ;;\n", option.name);
  return fmt::format(R"(_lathe() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
  local command="${{COMP_WORDS[1]}}" words=""
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    words="{0} help --help --version"
  elif [[ $COMP_CWORD -eq 2 ]]; then
    case "$command" in
{4}    esac
  elif [[ $command =~ ^({5})$ ]]; then
    command+=" ${{COMP_WORDS[2]}}"
  fi
  if [[ -z $words ]]; then
    case "$previous" in
{2}    esac
    if [[ -z $words && $current == -* ]]; then
      case "$command" in
{1}      esac
    elif [[ -z $words ]]; then
      case "$command" in
{3}      esac
    fi
    if [[ -z $words ]]; then return; fi
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _lathe lathe
)",
                     first_words(), flags, values, plain, seconds, fmt::join(two_word_commands(), "|"));
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
          "{}' -a {} -d {}\n",
          first, fmt::join(actions_of(first), " "), action, quoted(spec.summary));
      seen = first;
    }
    std::string condition = fmt::format("-n '__fish_seen_subcommand_from {}", first);
    if (space != std::string_view::npos)
      condition += fmt::format("; and __fish_seen_subcommand_from {}", spec.name.substr(space + 1));
    condition += "'";
    if (std::string words = plain_words(spec); !words.empty())
      text += fmt::format("complete -c lathe -f {} -a '{}'\n", condition, words);
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
