// See output.h.
#include "apps/kernels/output.h"

#include <fmt/format.h>

#include "apps/kernels/select.h"
#include "engine/runtime/atomic_file.h"
#include "engine/runtime/error.h"

namespace lathe {
namespace {

// Nothing is left open meanwhile: a signal would leave a temporary file.
void check_place(const char* option, const std::string& name) {
  if (name.empty() || name == "-") return;
  if (names_a_rung(name))
    throw Error(ExitCode::usage,
                fmt::format("{} {}: that is a rung; {} takes a file, or - for stdout", option, name, option));
  const AtomicFile probe(name);
}

void write(const std::string& name, const std::string& text, Console& console) {
  if (name == "-") return console.result(text);
  write_file_atomically(name, text);
  console.note("wrote " + name);
}

}  // namespace

Output::Output(const KernelsConfig& config) : json_name_(config.json), html_name_(config.html) {
  for (std::string* name : {&json_name_, &html_name_})
    if (*name == "/dev/stdout") *name = "-";  // which may be a file that must not be replaced
  // A file is written through its name and ".tmp".
  if (!json_name_.empty() && !html_name_.empty() &&
      (json_name_ == html_name_ || json_name_ + ".tmp" == html_name_ || html_name_ + ".tmp" == json_name_))
    throw Error(ExitCode::usage,
                fmt::format("--json {} and --html {} contradict each other: give them two names", json_name_,
                            html_name_));
  check_place("--json", json_name_);
  check_place("--html", html_name_);
}

void Output::write_json(const nlohmann::ordered_json& json, Console& console) {
  if (json_name_.empty()) return;
  std::string text = json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  write(json_name_, text + "\n", console);
}

void Output::write_html(const std::string& page, Console& console) { write(html_name_, page, console); }

}  // namespace lathe
