// The switches: their text form, what this build makes of them, and their hash.
#include "engine/runtime/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>

#include "engine/runtime/error.h"
#include "engine/runtime/suggest.h"

namespace lathe {
namespace {

using Strings = std::vector<std::string>;

const Strings kImplementations = {"library", "handwritten", "reference"};
const Strings kPrecisions = {"fp32", "tf32", "bf16", "fp16"};
const Strings kMemories = {"naive", "pool", "plan"};
const Strings kLayouts = {"nchw", "nhwc", "native"};
constexpr int kMaxWorkers = 256;
constexpr int kMaxRecomputeMib = 1 << 24;  // 16 TiB

Strings split(const std::string& text, char separator) {
  Strings parts;
  size_t start = 0;
  for (size_t end; (end = text.find(separator, start)) != std::string::npos; start = end + 1)
    parts.push_back(text.substr(start, end - start));
  parts.push_back(text.substr(start));
  return parts;
}

Error rejected(const std::string& name, const std::string& value, const std::string& accepted) {
  return Error(ExitCode::usage, fmt::format("--{}: '{}' is not accepted: {}", name, value, accepted));
}

// Index of value in choices, or an Error with the choices and a suggestion.
int choice(const std::string& name, const std::string& value, const Strings& choices) {
  auto found = std::find(choices.begin(), choices.end(), value);
  if (found == choices.end())
    throw rejected(name, value,
                   fmt::format("one of {}{}", fmt::join(choices, ", "), did_you_mean(value, choices)));
  return static_cast<int>(found - choices.begin());
}

bool on_off(const std::string& name, const std::string& value) {
  return choice(name, value, {"on", "off"}) == 0;
}
std::string on_off(bool value) { return value ? "on" : "off"; }

bool is_word(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '+';
  });
}

int whole_number(const std::string& name, const std::string& value, int least, int most,
                 const std::string& accepted) {
  int number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < least || number > most)
    throw rejected(name, value, accepted);
  return number;
}

// "library", "conv2d=handwritten,linear=library", or both: "library,conv2d=handwritten".
void set_kernels(Options& options, const std::string& value) {
  Options parsed;
  bool bare = false;
  for (const std::string& part : split(value, ',')) {
    size_t equals = part.find('=');
    std::string implementation = part.substr(equals == std::string::npos ? 0 : equals + 1);
    if (equals == std::string::npos) {
      choice("kernels", implementation, kImplementations);
      if (bare) throw rejected("kernels", value, "two implementations for every operation; name one");
      bare = true;
      parsed.kernels = implementation;
      continue;
    }
    std::string operation = part.substr(0, equals);
    if (!is_word(operation))
      throw rejected("kernels", value, "an implementation or OPERATION=IMPLEMENTATION,...");
    choice("kernels " + operation, implementation, kImplementations);
    if (!parsed.kernels_by_op.emplace(operation, implementation).second)
      throw rejected("kernels", value, fmt::format("'{}' is named twice", operation));
  }
  options.kernels = parsed.kernels;
  options.kernels_by_op = parsed.kernels_by_op;
}

std::string kernels_text(const Options& options) {
  std::string text = options.kernels;
  for (const auto& [operation, implementation] : options.kernels_by_op)
    text += fmt::format(",{}={}", operation, implementation);
  return text;
}

void set_fusion(Options& options, const std::string& value) {
  Strings rules = split(value, ',');
  bool switched = value == "on" || value == "off";
  auto bad = [](const std::string& rule) { return !is_word(rule) || rule == "on" || rule == "off"; };
  if (!switched && std::any_of(rules.begin(), rules.end(), bad))
    throw rejected("fusion", value, "on, off, or a list of rules such as conv2d+relu,linear+relu");
  options.fusion = value;
}

void set_recompute(Options& options, const std::string& value) {
  if (value != "off" && value != "auto")
    whole_number("recompute", value, 1, kMaxRecomputeMib, "off, auto, or a budget in MiB (1 or more)");
  options.recompute = value;
}

struct SwitchText {
  std::string name;
  std::function<std::string(const Options&)> get;
  std::function<void(Options&, const std::string&)> set;
};

SwitchText flag(const std::string& name, bool Options::*member) {
  return {name, [=](const Options& o) { return on_off(o.*member); },
          [=](Options& o, const std::string& v) { o.*member = on_off(name, v); }};
}

const std::vector<SwitchText>& switch_table() {
  static const std::vector<SwitchText> table = {
      {"kernels", kernels_text, set_kernels},
      {"precision", [](const Options& o) { return kPrecisions[static_cast<int>(o.precision)]; },
       [](Options& o, const std::string& v) {
         o.precision = Precision(choice("precision", v, kPrecisions));
       }},
      {"layout", [](const Options& o) { return o.layout; },
       [](Options& o, const std::string& v) { o.layout = kLayouts[choice("layout", v, kLayouts)]; }},
      {"fusion", [](const Options& o) { return o.fusion; }, set_fusion},
      {"memory", [](const Options& o) { return kMemories[static_cast<int>(o.memory)]; },
       [](Options& o, const std::string& v) { o.memory = Memory(choice("memory", v, kMemories)); }},
      {"recompute", [](const Options& o) { return o.recompute; }, set_recompute},
      flag("capture", &Options::capture),
      flag("overlap", &Options::overlap),
      {"workers", [](const Options& o) { return std::to_string(o.workers); },
       [](Options& o, const std::string& v) {
         o.workers = whole_number("workers", v, 0, kMaxWorkers, "a whole number from 0 to 256");
       }},
      {"augment-on", [](const Options& o) { return std::string(o.augment_on_device ? "device" : "host"); },
       [](Options& o, const std::string& v) {
         o.augment_on_device = choice("augment-on", v, {"device", "host"}) == 0;
       }},
      flag("winograd", &Options::winograd),
      flag("autotune", &Options::autotune),
      flag("deterministic", &Options::deterministic),
  };
  return table;
}

const SwitchText& find_switch(const std::string& name) {
  for (const SwitchText& entry : switch_table())
    if (entry.name == name) return entry;
  throw Error(ExitCode::usage,
              fmt::format("'{}' is not a switch{}", name, did_you_mean(name, switch_names())));
}

// --kernels is limited implementation by implementation: "reference,conv2d=library" keeps its parts.
Options limited_kernels(Options options, const Limit& limit) {
  auto works = [&](const std::string& implementation) {
    return std::find(limit.works.begin(), limit.works.end(), implementation) != limit.works.end();
  };
  if (!works(options.kernels)) options.kernels = limit.fallback;
  for (auto& [operation, implementation] : options.kernels_by_op)
    if (!works(implementation)) implementation = limit.fallback;
  return options;
}

Options limited(const Options& options, const Limit& limit) {
  if (limit.name == "kernels") return limited_kernels(options, limit);
  std::string value = switch_value(options, limit.name);
  if (std::find(limit.works.begin(), limit.works.end(), value) != limit.works.end()) return options;
  Options result = options;
  set_switch(result, limit.name, limit.fallback);
  return result;
}

}  // namespace

std::string Options::implementation_for(const std::string& operation) const {
  auto found = kernels_by_op.find(operation);
  return found == kernels_by_op.end() ? kernels : found->second;
}

const std::vector<std::string>& switch_names() {
  static const Strings names = [] {
    Strings all;
    for (const SwitchText& entry : switch_table()) all.push_back(entry.name);
    return all;
  }();
  return names;
}

std::string switch_value(const Options& options, const std::string& name) {
  return find_switch(name).get(options);
}

void set_switch(Options& options, const std::string& name, const std::string& value) {
  find_switch(name).set(options, value);
}

void check_operations(const Options& options, const std::vector<std::string>& operations) {
  for (const auto& [operation, implementation] : options.kernels_by_op)
    if (std::find(operations.begin(), operations.end(), operation) == operations.end())
      throw Error(ExitCode::usage, fmt::format("--kernels: no operation is called '{}'{}", operation,
                                               did_you_mean(operation, operations)));
}

std::vector<Switch> effective_switches(const Options& options) {
  std::vector<Switch> rows;
  for (const std::string& name : switch_names()) {
    std::string requested = switch_value(options, name);
    rows.push_back({name, requested, requested, ""});
  }
  for (const Limit& limit : build_limits()) {
    std::string effective = switch_value(limited(options, limit), limit.name);
    for (Switch& row : rows)
      if (row.name == limit.name && row.requested != effective) {
        row.effective = effective;
        row.reason = limit.reason;
      }
  }
  return rows;
}

Options effective_options(const Options& options) {
  Options result = options;
  Strings differences;
  for (const Switch& row : effective_switches(options)) {
    set_switch(result, row.name, row.effective);
    if (row.effective != row.requested)
      differences.push_back(
          fmt::format("{}={} would run as {} ({})", row.name, row.requested, row.effective, row.reason));
  }
  if (options.strict && !differences.empty())
    throw Error(ExitCode::usage, fmt::format("--strict: {}", fmt::join(differences, "; ")));
  return result;
}

std::string to_string(const Options& options) {
  Strings parts;
  for (const std::string& name : switch_names()) parts.push_back(name + "=" + switch_value(options, name));
  return fmt::format("{}", fmt::join(parts, " "));
}

uint64_t hash(const Options& options) {
  uint64_t value = 0xcbf29ce484222325;  // FNV-1a, 64 bit
  for (unsigned char byte : to_string(options)) value = (value ^ byte) * 0x100000001b3;
  return value;
}

}  // namespace lathe
