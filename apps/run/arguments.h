// What a run was asked to do and on what: args.json, and the same facts in the report.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace lathe {

struct OptionRecord {
  std::string name, value;
  std::string origin;  // flag, config, preset or default
};

using Facts = std::vector<std::pair<std::string, std::string>>;  // in the order shown

struct RunArguments {
  std::vector<std::string> command_line;  // argv
  std::vector<OptionRecord> options;
  Facts machine;
  Facts versions;
};

// Atomic. Error(failure) as atomic_file.h.
void write_args_json(const std::filesystem::path& path, const RunArguments& arguments);

// The command line so that a shell reads it back as it was.
std::string shell_command(const std::vector<std::string>& command_line);

// Processor, cores, memory and system of this machine; the compiler and the libraries built in here.
Facts machine_facts();
Facts build_facts();

}  // namespace lathe
