// What the machine has, as `lathe doctor` shows it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lathe {

struct Finding {
  std::string group;  // machine, build, libraries, gpu
  std::string name;
  std::string value;    // "" where it could not be found out
  std::string problem;  // what is wrong and the one command that mends it; "" is fine
  bool blocks_training = false;
};

// Every finding; never throws for a machine that lacks a file or a driver.
std::vector<Finding> examine_machine();

}  // namespace lathe
