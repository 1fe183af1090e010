// Where a result goes besides the table: --json FILE|- and --html FILE.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "apps/command_line/config.h"
#include "apps/run/console.h"

namespace lathe {

// Tries the files at once: a place that cannot be written to is told before the work.
class Output {
 public:
  // Throws Error: the files, as AtomicFile; (usage) where both go to one place, or where a file has a rung's
  // name.
  explicit Output(const KernelsConfig& config);

  bool table() const { return json_name_ != "-" && html_name_ != "-"; }  // whether stdout is for the table
  bool wants_html() const { return !html_name_.empty(); }
  void write_json(const nlohmann::ordered_json& json, Console& console);
  void write_html(const std::string& page, Console& console);

 private:
  std::string json_name_, html_name_;
};

}  // namespace lathe
