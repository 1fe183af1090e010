// Text made from the option table: help, configuration listing, shell completion, manual page.
#pragma once

#include <string>
#include <vector>

#include "apps/command_line/command_line.h"

namespace lathe {

std::string program_help();                      // lathe --help
std::string command_help(Command command);       // lathe train --help
std::string config_listing(const CommandLine&);  // --print-config: a TOML file with the origin of each value

// Throws Error(usage) for another shell than bash, zsh or fish.
std::string completion_script(const std::vector<std::string>& positionals);
std::string manual_page();  // troff, for man(1)

}  // namespace lathe
