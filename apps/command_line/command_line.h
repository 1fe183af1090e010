// From words to settings: every option of a command with its value and where that came from.
//
// Precedence: flag, then LATHE_* environment variable, then --config file, then preset, then default.
// A resumed run's saved options stand in the place of preset and default. Of these options, only those
// that say so in the table may be changed; anything else that differs is an error.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/command_line/option_table.h"

namespace lathe {

enum class Origin { fallback, preset, run, config, environment, flag };
std::string to_string(Origin origin);  // "default", "preset", "run", …

struct Setting {
  std::string value;  // canonical text; "" is not set
  Origin origin = Origin::fallback;
  std::string where;  // "--lr", "LATHE_LR", "exp.toml": for messages
};

// The values of one command's options. Each is valid for its option when parse_command_line returns.
class Settings {
 public:
  Setting& operator[](const std::string& name) { return values_[name]; }
  const Setting& at(const std::string& name) const;  // std::logic_error: not an option of this command
  bool has(const std::string& name) const { return values_.count(name) != 0; }
  bool is_set(const std::string& name) const { return !at(name).value.empty(); }

  const std::string& text(const std::string& name) const { return at(name).value; }
  double real(const std::string& name) const;
  long long integer(const std::string& name) const;
  bool on(const std::string& name) const { return text(name) == "on"; }

  // {"options": {name: value, …}, "origins": {name: "flag", …}}, for args.json; --config reads it back.
  nlohmann::ordered_json to_json() const;

 private:
  std::map<std::string, Setting> values_;
};

struct CommandLine {
  Command command = Command::none;
  bool help = false, version = false;
  std::vector<Command> help_about;  // with help: these commands; none is the whole program
  Settings settings;
  std::vector<std::string> positionals;
  std::vector<std::string> warnings;  // for stderr
  std::string resume;                 // folder of the run to go on with; "" is none
};

using Environment = std::map<std::string, std::string>;
Environment process_environment();  // its LATHE_* variables

// `words` without the program's name. Throws Error(usage); reads --config and a resumed run, writes nothing.
CommandLine parse_command_line(const std::vector<std::string>& words, const Environment& environment);

// Canonical text of a value of `option`; throws Error(usage) that names `where`, the value and what is
// accepted.
std::string checked_value(const OptionSpec& option, const std::string& value, const std::string& where);

// The options in a TOML or JSON file, by name, as text; unknown names are errors with a suggestion.
// Tables named after a command ([train]) hold options of that command alone.
std::map<std::string, std::string> read_config(const std::string& path, Command command);

// Folder of the run that --resume names: DIR, or for "auto" the newest one in runs/train that has a state.
std::string find_resumable_run(const std::string& resume);

}  // namespace lathe
