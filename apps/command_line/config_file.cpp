// Options in files: TOML or JSON configuration, and the args.json of a run that is resumed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <toml.hpp>

#include "apps/command_line/checks.h"
#include "apps/command_line/command_line.h"
#include "engine/runtime/error.h"
#include "engine/runtime/suggest.h"

namespace lathe {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr uintmax_t kMaxBytes = 1 << 20;  // no configuration is larger
constexpr int kMaxNesting = 300;          // toml11 and JSON values nest by recursion

Error bad(const std::string& path, const std::string& what) {
  std::string line = what.substr(0, what.find('\n'));
  return Error(ExitCode::usage, fmt::format("{}: {}", path, line));
}

std::string read_text(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) throw bad(path, "no such file; --config takes a TOML or JSON file");
  if (!fs::is_regular_file(path, error)) throw bad(path, "not a file; --config takes a TOML or JSON file");
  if (fs::file_size(path, error) > kMaxBytes) throw bad(path, "larger than 1 MiB, so no configuration");
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw bad(path, "cannot be read");
  // Without a parser's knowledge of strings only counting what opens is safe. Dots nest as brackets do.
  int opened = 0, dots = 0;
  for (char c : text.str()) {
    opened += c == '[' || c == '{';
    dots = c == '.' ? dots + 1 : c == '\n' ? 0 : dots;
    if (opened > kMaxNesting || dots > kMaxNesting)
      throw bad(path, "too many brackets or dots for a configuration");
  }
  return text.str();
}

// nlohmann/json keeps the last of two equal keys; a configuration must not have two.
ordered_json parse_json(const std::string& path, const std::string& text) {
  std::vector<std::set<std::string>> keys;
  auto watch = [&](int, ordered_json::parse_event_t event, ordered_json& parsed) {
    using Event = ordered_json::parse_event_t;
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(parsed.get<std::string>()).second)
      throw bad(path, fmt::format("'{}' is given twice", parsed.get<std::string>()));
    return true;
  };
  try {
    return ordered_json::parse(text, watch);
  } catch (const ordered_json::exception& problem) {
    throw bad(path, problem.what());
  }
}

ordered_json from_toml(const toml::value& value) {
  switch (value.type()) {
    case toml::value_t::boolean:
      return value.as_boolean();
    case toml::value_t::integer:
      return value.as_integer();
    case toml::value_t::floating:
      return value.as_floating();
    case toml::value_t::string:
      return value.as_string().str;
    case toml::value_t::array: {
      ordered_json array = ordered_json::array();
      for (const toml::value& item : value.as_array()) array.push_back(from_toml(item));
      return array;
    }
    case toml::value_t::table: {
      ordered_json object = ordered_json::object();
      for (const auto& [key, item] : value.as_table()) object[key] = from_toml(item);
      return object;
    }
    default:
      return ordered_json::binary({});  // dates: no option takes one
  }
}

ordered_json parse_toml(const std::string& path, const std::string& text) {
  std::istringstream stream(text);
  try {
    return from_toml(toml::parse(stream, path));
  } catch (const toml::exception& problem) {
    std::string what = problem.what();
    if (what.rfind("[error] ", 0) == 0) what = what.substr(8);
    throw bad(path, fmt::format("line {}: {}", problem.location().line(), what.substr(0, what.find('\n'))));
  } catch (const std::exception& problem) {
    throw bad(path, problem.what());
  }
}

// A value as the text that the command line would have; lists and tables become "a=1,b=2".
std::string as_text(const std::string& where, const ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  if (value.is_number_unsigned()) return fmt::format("{}", value.get<uint64_t>());
  if (value.is_number_integer()) return fmt::format("{}", value.get<int64_t>());
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  std::vector<std::string> parts;
  if (value.is_array())
    for (const auto& item : value) parts.push_back(as_text(where, item));
  else if (value.is_object())
    for (const auto& [key, item] : value.items()) parts.push_back(key + "=" + as_text(where, item));
  else
    throw Error(ExitCode::usage, fmt::format("{} is neither text, number, on or off", where));
  return fmt::format("{}", fmt::join(parts, ","));
}

void take_options(const std::string& path, const ordered_json& object, Command command,
                  std::map<std::string, std::string>& options) {
  for (const auto& [key, value] : object.items()) {
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', '-');
    const OptionSpec* option = find_option(name);
    if (!option || option->flag_only) {
      std::vector<std::string_view> names;
      for (const OptionSpec* known : options_of(command))
        if (!known->flag_only) names.push_back(known->name);
      throw bad(path, fmt::format("'{}' is {}{}", key,
                                  option ? "only a flag, not an option of a configuration file" : "no option",
                                  option ? "" : did_you_mean(name, names)));
    }
    if (!(option->commands & on(command))) continue;
    std::string where = path + ": " + name;
    // An args.json holds {"value": …, "origin": …} for each.
    bool recorded = value.is_object() && value.contains("value");
    const ordered_json& given = recorded ? value["value"] : value;
    if (given.is_null() || (recorded && given.is_string() && given.get_ref<const std::string&>().empty()))
      continue;  // not set
    if (!options.emplace(name, checked_value(*option, as_text(where, given), where)).second)
      throw bad(path, fmt::format("'{}' is given twice", name));
  }
}

}  // namespace

std::map<std::string, std::string> read_config(const std::string& path, Command command) {
  std::string text = read_text(path);
  size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  bool json = first != std::string::npos && text[first] == '{';
  ordered_json root = json ? parse_json(path, text) : parse_toml(path, text);
  if (json && root.contains("options") && root["options"].is_object())
    root = root["options"];  // an args.json

  // [train] beats what stands outside of tables; "data check" is [data_check] or [data-check].
  std::map<std::string, std::string> general, special;
  std::string own(spec_of(command).name);
  std::replace(own.begin(), own.end(), ' ', '-');
  ordered_json plain = ordered_json::object();
  for (const auto& [key, value] : root.items()) {
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', '-');
    bool table = false;
    for (const CommandSpec& spec : command_table()) {
      std::string title(spec.name);
      std::replace(title.begin(), title.end(), ' ', '-');
      table = table || (title == name && value.is_object());
    }
    if (!table) plain[key] = value;
    if (table && name == own) take_options(path, value, command, special);
  }
  take_options(path, plain, command, general);
  special.merge(general);
  return special;
}

nlohmann::ordered_json Settings::to_json() const {
  ordered_json options = ordered_json::object(), origins = ordered_json::object();
  for (const OptionSpec& option : option_table()) {
    std::string name(option.name);
    if (!has(name) || option.flag_only) continue;
    ordered_json& value = options[name];
    if (!is_set(name))
      value = nullptr;
    else if (option.kind == Kind::flag || option.kind == Kind::on_off)
      value = on(name);
    else if (option.kind == Kind::integer)
      value = integer(name);
    else if (option.kind == Kind::real)
      value = real(name);
    else
      value = text(name);
    origins[name] = to_string(at(name).origin);
  }
  return {{"options", options}, {"origins", origins}};
}

const Setting& Settings::at(const std::string& name) const {
  auto found = values_.find(name);
  if (found == values_.end()) throw std::logic_error("this command has no option " + name);
  return found->second;
}

double Settings::real(const std::string& name) const { return parse_real(text(name)).value_or(0); }
long long Settings::integer(const std::string& name) const { return parse_integer(text(name)).value_or(0); }

std::string find_resumable_run(const std::string& resume) {
  const fs::path state = fs::path("state") / "last.safetensors";
  std::error_code error;
  if (resume != "auto") {
    if (!fs::is_directory(resume, error))
      throw Error(ExitCode::usage, "--resume " + resume + ": no such folder");
    if (!fs::exists(fs::path(resume) / state, error))
      throw Error(ExitCode::usage,
                  fmt::format("--resume {}: no {} in it, so nothing to go on with", resume, state.string()));
    return resume;
  }
  fs::path newest;
  fs::file_time_type newest_time;
  for (fs::directory_iterator entry(fs::path("runs") / "train", error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unreadable;
    auto time = fs::last_write_time(entry->path() / state, unreadable);
    if (!unreadable && (newest.empty() || time > newest_time)) newest = entry->path(), newest_time = time;
  }
  if (newest.empty())
    throw Error(ExitCode::usage,
                "--resume auto: no run with a saved state in runs/train; start one, or name its folder");
  return newest.string();
}

}  // namespace lathe
