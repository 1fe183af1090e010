// See output.h.
#include "apps/kernels/output.h"

#include <fmt/format.h>

#include "apps/kernels/select.h"
#include "engine/runtime/error.h"

namespace lathe {
namespace {

std::unique_ptr<AtomicFile> open(const char* option, const std::string& name) {
  if (name.empty() || name == "-") return nullptr;
  if (names_a_rung(name))
    throw Error(ExitCode::usage,
                fmt::format("{} {}: that is a rung; {} takes a file, or - for stdout", option, name, option));
  return std::make_unique<AtomicFile>(name);
}

void write(const std::string& name, AtomicFile* file, const std::string& text, Console& console) {
  if (name == "-") console.result(text);
  if (file == nullptr) return;
  file->write(text);
  file->commit();
  console.note("wrote " + name);
}

}  // namespace

Output::Output(const KernelsConfig& config) : json_name_(config.json), html_name_(config.html) {
  for (std::string* name : {&json_name_, &html_name_})
    if (*name == "/dev/stdout") *name = "-";  // which may be a file that must not be replaced
  if (!json_name_.empty() && json_name_ == html_name_)
    throw Error(
        ExitCode::usage,
        fmt::format("--json {0} and --html {0} contradict each other: give them two names", json_name_));
  json_ = open("--json", json_name_);
  html_ = open("--html", html_name_);
}

void Output::write_json(const nlohmann::ordered_json& json, Console& console) {
  if (json_name_.empty()) return;
  std::string text = json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  write(json_name_, json_.get(), text + "\n", console);
}

void Output::write_html(const std::string& page, Console& console) {
  write(html_name_, html_.get(), page, console);
}

}  // namespace lathe
