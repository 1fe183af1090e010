// The one table of commands and options. Parsing, --help, --print-config, shell completion and the man
// page are all made from it, so none of them can know an option that another does not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe {

enum class Command {
  none,
  train,
  evaluate,
  predict,
  data_check,
  data_preview,
  data_export,
  kernels_list,
  kernels_check,
  kernels_trace,
  kernels_time,
  kernels_explain,
  doctor,
  completion,
  man
};

// A set of commands, one bit each: on(Command::train) | on(Command::evaluate).
using CommandSet = unsigned;
constexpr CommandSet on(Command command) { return 1U << static_cast<unsigned>(command); }

struct CommandSpec {
  Command command;
  std::string_view name;         // "train", "data check"
  std::string_view positionals;  // "IMAGE…" or "" where it takes none
  std::string_view summary;      // one line
  std::vector<std::string_view> examples;
};

enum class Kind {
  flag,     // --strict, also --strict=off
  on_off,   // --capture on|off; --capture alone is on
  integer,  // from least to most
  real,     // finite, from least to most
  choice,   // one of choices
  text,     // anything but nothing; `check` may say more
};

// Throws Error(usage) for a bad value (checks.h).
using Check = void (*)(const std::string& value);

struct OptionSpec {
  std::string_view name = {};  // without the dashes
  Kind kind = Kind::text;
  CommandSet commands = 0;
  std::string_view group = {};
  std::string_view value_name = {};  // "DIR"; for choices made from them
  std::string_view fallback = {};    // the default as text; "" is "not set"
  std::string_view help = {};        // one line
  std::string_view example = {};     // "--lr 0.05"
  std::vector<std::string_view> choices = {};
  double least = 0, most = 0;
  Check check = nullptr;
  char letter = 0;                 // -b
  bool changes_on_resume = false;  // may differ from the saved run when it is resumed
  bool per_call = false;           // about this call alone: never taken from a resumed run
  bool flag_only = false;          // not in a configuration file, not in the environment
};

const std::vector<CommandSpec>& command_table();
const std::vector<OptionSpec>& option_table();

const CommandSpec& spec_of(Command command);
std::vector<const OptionSpec*> options_of(Command command);
// Names repeat where commands take different values: --json is a flag of some and takes a file with others.
// nullptr: none of these commands has it.
const OptionSpec* find_option(std::string_view name, CommandSet commands = ~0U);

// The second words of commands such as `data check` that start with `first`; none for `train`.
std::vector<std::string_view> actions_of(std::string_view first);

// "a whole number from 1 to 1048576", "one of sgd, adam, adamw": for messages and help.
std::string accepted_values(const OptionSpec& option);
// "DIR", "on|off", "sgd|adam|adamw", or "" for a flag.
std::string value_name(const OptionSpec& option);

// A preset is a named set of options for train; any other origin beats it.
struct Preset {
  std::string_view name, summary;
  std::vector<std::pair<std::string_view, std::string_view>> values;
};
const std::vector<Preset>& preset_table();

}  // namespace lathe
