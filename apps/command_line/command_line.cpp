// Words, environment, configuration file and preset, merged by precedence and checked.
#include "apps/command_line/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "apps/command_line/checks.h"
#include "engine/runtime/error.h"
#include "engine/runtime/options.h"
#include "engine/runtime/printable.h"
#include "engine/runtime/suggest.h"
#include "layers/augment/augment_options.h"

namespace lathe {
namespace {

template <typename... Args>
Error usage(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ExitCode::usage, fmt::format(format, std::forward<Args>(args)...));
}

std::string shown(const std::string& value) { return "'" + printable(value, 80) + "'"; }

bool looks_like_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-' &&
         (word[1] == '-' || (word[1] >= 'a' && word[1] <= 'z') || (word[1] >= 'A' && word[1] <= 'Z'));
}

std::vector<std::string_view> command_words() {
  std::vector<std::string_view> words = {"help"};
  for (const CommandSpec& spec : command_table()) words.push_back(spec.name.substr(0, spec.name.find(' ')));
  return words;
}

// Promised names that this version does not have yet.
constexpr std::string_view kLater[] = {"compare", "profile", "plan"};

// The command at the front of words, and how many words name it.
std::pair<Command, size_t> find_command(const std::vector<std::string>& words) {
  const std::string& first = words[0];
  if (std::find(std::begin(kLater), std::end(kLater), first) != std::end(kLater))
    throw usage("{} is not in this version; lathe --help lists what is", first);
  for (const CommandSpec& spec : command_table()) {
    if (spec.name == first) return {spec.command, 1};
    if (words.size() > 1 && spec.name == first + " " + words[1]) return {spec.command, 2};
  }
  const std::vector<std::string_view> actions = actions_of(first);
  if (actions.empty())
    throw usage("{} is not a command{}; lathe --help lists them", shown(first),
                did_you_mean(first, command_words()));
  const std::string known = fmt::format("{}", fmt::join(actions, ", "));
  if (words.size() == 1) throw usage("{} needs one of {}", first, known);
  throw usage("{} {} is not a command: one of {}{}", first, shown(words[1]), known,
              did_you_mean(words[1], actions));
}

// The commands that help is asked about: `data --help` is about all three of data's.
std::vector<Command> commands_about(const std::vector<std::string>& words) {
  if (words.empty() || looks_like_option(words[0])) return {};
  std::vector<Command> about;
  if (words.size() == 1 || looks_like_option(words[1]))
    for (const CommandSpec& spec : command_table())
      if (spec.name.substr(0, spec.name.find(' ')) == words[0]) about.push_back(spec.command);
  if (about.empty()) about.push_back(find_command(words).first);
  return about;
}

std::vector<std::string_view> names_of(Command command) {
  std::vector<std::string_view> names;
  for (const OptionSpec* option : options_of(command)) names.push_back(option->name);
  return names;
}

const OptionSpec& find_option_of(Command command, const std::string& name) {
  std::string_view command_name = spec_of(command).name;
  if (const OptionSpec* option = find_option(name, on(command))) return *option;
  if (find_option(name)) throw usage("--{} is no option of {}", name, command_name);
  throw usage("{} has no option {}{}", command_name, shown("--" + name),
              did_you_mean(name, names_of(command), "--"));
}

// One option as typed; no value where none was.
struct Flag {
  const OptionSpec* option;
  std::optional<std::string> value;
};

Flag split_flag(Command command, const std::string& word) {
  if (word[1] == '-') {
    size_t equals = word.find('=');
    Flag flag{&find_option_of(command, word.substr(2, equals == std::string::npos ? equals : equals - 2)),
              {}};
    if (equals != std::string::npos) flag.value = word.substr(equals + 1);
    return flag;
  }
  for (const OptionSpec* option : options_of(command)) {
    if (option->letter != word[1]) continue;
    Flag flag{option, {}};
    if (word.size() > 2) flag.value = word.substr(word[2] == '=' ? 3 : 2);
    return flag;
  }
  std::string name = word.substr(1);  // "-lr" is "--lr"
  throw usage("{} has no option {}{}", spec_of(command).name, shown(word),
              name.size() > 1 ? did_you_mean(name, names_of(command), "--") : "");
}

// Takes the flags and positionals out of words[start…].
void read_words(const std::vector<std::string>& words, size_t start, CommandLine& line) {
  bool options_ended = false;
  for (size_t i = start; i < words.size(); ++i) {
    if (!options_ended && words[i] == "--") {
      options_ended = true;
      continue;
    }
    if (options_ended || !looks_like_option(words[i])) {
      if (spec_of(line.command).positionals.empty())
        throw usage("{} takes no plain words: {}", spec_of(line.command).name, shown(words[i]));
      line.positionals.push_back(words[i]);
      continue;
    }
    auto [option, value] = split_flag(line.command, words[i]);
    std::string where = fmt::format("--{}", option->name);
    bool next_is_value = i + 1 < words.size() && words[i + 1] != "--" && !looks_like_option(words[i + 1]);
    if (!value && option->kind != Kind::flag && next_is_value) value = words[++i];
    if (!value && option->kind != Kind::flag && option->kind != Kind::on_off)
      throw usage("{} needs a value: {}", where, accepted_values(*option));
    if (line.settings.has(std::string(option->name))) throw usage("{} is given twice", where);
    line.settings[std::string(option->name)] = {checked_value(*option, value.value_or("on"), where),
                                                Origin::flag, where};
  }
}

std::string variable_name(std::string_view option) {
  std::string name = "LATHE_";
  for (char c : option) name += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return name;
}

// Sets an option unless something stronger has.
void offer(Settings& settings, const OptionSpec& option, const std::string& value, Origin origin,
           const std::string& where) {
  std::string name(option.name);
  if (!settings.has(name))
    settings[name] = {value.empty() ? "" : checked_value(option, value, where), origin, where};
}

void read_environment(const Environment& environment, CommandLine& line) {
  std::vector<std::string> known;
  for (const OptionSpec& option : option_table())
    if (!option.flag_only) known.push_back(variable_name(option.name));
  for (const auto& [name, value] : environment) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string near =
        nearest(name, known);  // other LATHE_* variables may have other uses: warn of near misses
    if (!near.empty() && edit_distance(name, near) <= 2)
      line.warnings.push_back(fmt::format("{} is not read; did you mean {}?", name, near));
  }
  for (const OptionSpec* option : options_of(line.command)) {
    auto found = environment.find(variable_name(option->name));
    if (found == environment.end() || found->second.empty() || option->flag_only) continue;
    offer(line.settings, *option, found->second, Origin::environment, found->first);
  }
}

void read_preset(CommandLine& line) {
  if (!line.settings.has("preset") || !line.settings.is_set("preset")) return;
  std::string name = line.settings.text("preset");
  for (const Preset& preset : preset_table())
    if (preset.name == name)
      for (const auto& [option, value] : preset.values)
        offer(line.settings, find_option_of(line.command, std::string(option)), std::string(value),
              Origin::preset, "--preset " + name);
}

// The saved options of a resumed run: they hold, but for those that may change.
void read_saved_run(CommandLine& line) {
  std::string path = (std::filesystem::path(line.resume) / "args.json").string();
  auto saved = read_config(path, line.command);
  for (const OptionSpec* option : options_of(line.command)) {
    std::string name(option->name);
    auto found = saved.find(name);
    if (option->per_call || option->flag_only) continue;
    std::string value =
        found == saved.end() ? std::string(option->fallback) : checked_value(*option, found->second, path);
    if (!line.settings.has(name)) {
      if (found != saved.end()) line.settings[name] = {value, Origin::run, path};
    } else if (!option->changes_on_resume && line.settings.text(name) != value) {
      const Setting& asked = line.settings.at(name);
      throw usage(
          "{} ({}) differs from the run's {}: a resumed run keeps it; leave it out or start a new run",
          asked.where == "--" + name ? asked.where : "--" + name + " from " + asked.where, shown(asked.value),
          value.empty() ? "(not set)" : shown(value));
    }
  }
}

// Two options of which one must go: the stronger origin wins, equal ones are a contradiction.
void settle(Settings& settings, const std::string& first, const std::string& second, const std::string& why) {
  if (!settings.has(first) || !settings.has(second)) return;
  Setting &a = settings[first], &b = settings[second];
  auto chosen = [](const Setting& s) {
    return s.origin != Origin::fallback && !s.value.empty() && s.value != "off";
  };
  if (!chosen(a) || !chosen(b)) {
    Setting& idle = chosen(a) ? b : a;
    if ((chosen(a) || chosen(b)) && idle.value != "off") idle.value.clear();
    return;
  }
  if (a.origin == b.origin && a.origin != Origin::run)
    throw usage("--{} and --{} contradict each other: {}", first, second, why);
  Setting& weaker = a.origin < b.origin ? a : b;
  weaker.value = weaker.value == "on" ? "off" : "";
}

void require(const CommandLine& line, bool condition, const std::string& message) {
  if (!condition) throw usage("{}: {}", spec_of(line.command).name, message);
}

// Options that mean something only with certain values of another one.
struct Companion {
  const char* option;
  const char* other;
  std::vector<std::string> values;
};
const std::vector<Companion> kCompanions = {
    {"momentum", "optimizer", {"sgd"}},          {"nesterov", "optimizer", {"sgd"}},
    {"beta1", "optimizer", {"adam", "adamw"}},   {"beta2", "optimizer", {"adam", "adamw"}},
    {"epsilon", "optimizer", {"adam", "adamw"}}, {"lr-step", "schedule", {"step"}},
    {"lr-gamma", "schedule", {"step"}},          {"dropout", "head", {"classic"}},
};

void warn_of_idle_options(CommandLine& line) {
  for (const auto& [option, other, values] : kCompanions) {
    if (!line.settings.has(option) || line.settings.at(option).origin < Origin::config) continue;
    const std::string& value = line.settings.text(other);
    if (std::find(values.begin(), values.end(), value) == values.end())
      line.warnings.push_back(fmt::format("--{} has no effect with --{} {}", option, other, value));
  }
}

// What no single option can know.
void check_together(CommandLine& line) {
  Settings& s = line.settings;
  settle(s, "epochs", "steps", "give the length of the run once");
  settle(s, "quiet", "verbose", "give one of them");
  settle(s, "out", "name", "--out names the whole folder");
  if (s.has("resume") && s.is_set("resume")) {
    for (const char* other : {"init", "out", "name", "preset"})
      if (s.at(other).origin > Origin::run && !s.text(other).empty())
        throw usage("--resume and --{} contradict each other: a resumed run goes on as it was", other);
  }
  if (line.command == Command::train)
    require(line, !s.on("new-head") || s.is_set("init"),
            "--new-head needs --init FILE, whose classifier it replaces");
  if (s.has("augment") && s.has("image-size")) parse_augment(s.text("augment"), s.integer("image-size"));
  if (s.has("weights")) require(line, s.is_set("weights"), "--weights FILE is needed");
  if (line.command == Command::predict) require(line, !line.positionals.empty(), "name at least one picture");
}

}  // namespace

std::string to_string(Origin origin) {
  static const char* const names[] = {"default", "preset", "run", "config", "environment", "flag"};
  return names[static_cast<int>(origin)];
}

Environment process_environment() {
  Environment found;
  for (char** entry = environ; entry && *entry; ++entry) {
    std::string text = *entry;
    size_t equals = text.find('=');
    if (text.rfind("LATHE_", 0) == 0 && equals != std::string::npos)
      found[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return found;
}

std::string checked_value(const OptionSpec& option, const std::string& value, const std::string& where) {
  auto rejected = [&](const std::string& accepted) {
    return usage("{}: {} is not accepted: {}", where, shown(value), accepted);
  };
  if (value.empty()) throw usage("{} is empty: {}", where, accepted_values(option));
  if (value.find('\0') != std::string::npos) throw rejected(accepted_values(option));
  switch (option.kind) {
    case Kind::flag:
    case Kind::on_off: {
      auto state = parse_on_off(value);
      if (!state) throw rejected(accepted_values(option));
      return *state ? "on" : "off";
    }
    case Kind::integer: {
      auto number = parse_integer(value);
      if (!number || static_cast<double>(*number) < option.least ||
          static_cast<double>(*number) > option.most)
        throw rejected(accepted_values(option));
      return fmt::format("{}", *number);
    }
    case Kind::real: {
      auto number = parse_real(value);
      if (!number || *number < option.least || *number > option.most) throw rejected(accepted_values(option));
      return fmt::format("{}", *number + 0.0);  // -0 becomes 0
    }
    case Kind::choice:
      if (std::find(option.choices.begin(), option.choices.end(), value) == option.choices.end())
        throw rejected(accepted_values(option) + did_you_mean(value, option.choices));
      return value;
    case Kind::text:
      break;
  }
  try {
    if (option.check) option.check(value);
    const auto& switches = switch_names();
    if (std::find(switches.begin(), switches.end(), option.name) == switches.end()) return value;
    Options scratch;
    set_switch(scratch, std::string(option.name), value);
    return switch_value(scratch, std::string(option.name));
  } catch (const Error& error) {
    std::string message = error.what();
    throw usage("{}", message.rfind(where, 0) == 0 ? message : where + ": " + message);
  }
}

CommandLine parse_command_line(const std::vector<std::string>& words, const Environment& environment) {
  CommandLine line;
  auto options_end = std::find(words.begin(), words.end(), "--");
  line.help = std::any_of(words.begin(), options_end, [](auto& w) { return w == "--help" || w == "-h"; });
  if (words.empty()) throw usage("no command; lathe --help lists them");
  if (words[0] == "--version") {
    line.version = true;
    return line;
  }
  if (words[0] == "help") {  // lathe help train
    line.help = true;
    line.help_about = commands_about({words.begin() + 1, words.end()});
    return line;
  }
  if (looks_like_option(words[0])) {
    if (!line.help)
      throw usage("{} stands before a command; lathe --help lists the commands", shown(words[0]));
    return line;
  }
  if (line.help) {
    line.help_about = commands_about(words);
    return line;
  }
  auto [command, used] = find_command(words);
  line.command = command;

  read_words(words, used, line);
  if (command == Command::completion || command == Command::man) return line;
  Settings& settings = line.settings;
  read_environment(environment, line);
  if (settings.has("config")) {
    std::string path = settings.text("config");
    for (const auto& [name, value] : read_config(path, command))
      offer(settings, find_option_of(command, name), value, Origin::config, path + ": " + name);
  }
  if (settings.has("resume")) {
    line.resume = find_resumable_run(settings.text("resume"));
    read_saved_run(line);
  } else {
    read_preset(line);
  }
  for (const OptionSpec* option : options_of(command))
    offer(settings, *option, std::string(option->fallback), Origin::fallback, "default");
  check_together(line);
  warn_of_idle_options(line);
  return line;
}

}  // namespace lathe
