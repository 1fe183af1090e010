// args.json: {"version", "command", "argv", "options": {name: {value, origin}}, "machine", "versions"}.
#include "apps/run/arguments.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/runtime/atomic_file.h"

namespace lathe {
using nlohmann::ordered_json;

namespace {

ordered_json to_json(const Facts& facts) {
  ordered_json object = ordered_json::object();
  for (const auto& [name, value] : facts) object[name] = value;
  return object;
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace

void write_args_json(const std::filesystem::path& path, const RunArguments& arguments) {
  ordered_json options = ordered_json::object();
  for (const OptionRecord& option : arguments.options) {
    options[option.name] = {{"value", option.value}, {"origin", option.origin}};
  }
  const ordered_json all = {{"version", 1},
                            {"command", shell_command(arguments.command_line)},
                            {"argv", arguments.command_line},
                            {"options", options},
                            {"machine", to_json(arguments.machine)},
                            {"versions", to_json(arguments.versions)}};
  write_file_atomically(path, all.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

std::string shell_command(const std::vector<std::string>& command_line) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  std::string command;
  for (const std::string& word : command_line) {
    if (!command.empty()) command += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      command += word;
      continue;
    }
    command += '\'';
    for (const char c : word) command += c == '\'' ? std::string("'\\''") : std::string(1, c);
    command += '\'';
  }
  return command;
}

Facts machine_facts() {
  utsname system{};
  uname(&system);
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  return {{"processor", processor()},
          {"logical cores", std::to_string(std::thread::hardware_concurrency())},
          {"memory", fmt::format("{:.1f} GiB", memory / (1U << 30))},
          {"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)}};
}

Facts build_facts() {
  return {{"compiler", __VERSION__},
          {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
          {"nlohmann/json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                        NLOHMANN_JSON_VERSION_PATCH)}};
}

}  // namespace lathe
