// Numbers, and values with a syntax of their own: what reads them later says here whether it can.
#include "apps/command_line/checks.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <vector>

#include "apps/command_line/option_table.h"
#include "datasets/spec.h"
#include "engine/runtime/error.h"
#include "engine/runtime/suggest.h"
#include "layers/augment/augment_options.h"

namespace lathe {
namespace {

template <typename Number>
std::optional<Number> parse_number(const std::string& text) {
  Number number{};
  const char* last = text.data() + text.size();
  auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last) return std::nullopt;
  return number;
}

}  // namespace

std::optional<double> parse_real(const std::string& text) {
  auto number = parse_number<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<long long> parse_integer(const std::string& text) { return parse_number<long long>(text); }

std::optional<bool> parse_on_off(const std::string& text) {
  if (text == "on" || text == "true" || text == "yes" || text == "1") return true;
  if (text == "off" || text == "false" || text == "no" || text == "0") return false;
  return std::nullopt;
}

void check_data(const std::string& value) { parse_spec(value); }

void check_augment(const std::string& value) {
  parse_augment(value, static_cast<int64_t>(find_option("image-size")->most));
}

void check_normalize(const std::string& value) { parse_normalize(value); }

void check_freeze(const std::string& value) {
  constexpr int kLayers = 16;  // of VGG16
  if (value == "none" || value == "features") return;
  auto count = value.rfind("first:", 0) == 0 ? parse_integer(value.substr(6)) : std::nullopt;
  if (count && *count >= 1 && *count <= kLayers) return;
  throw Error(ExitCode::usage,
              fmt::format("'{}' is not accepted: none, features, or first:K with K layers from 1 to {}{}",
                          value, kLayers, did_you_mean(value, find_option("freeze")->choices)));
}

void check_name(const std::string& value) {
  bool good = value.size() <= 200 && value[0] != '.' && value[0] != '-';
  for (unsigned char c : value) good = good && c > 0x20 && c != 0x7f && c != '/' && c != '\\';
  if (!good)
    throw Error(ExitCode::usage, "'" + value +
                                     "' is not accepted: one folder name, without '/', spaces and control "
                                     "characters, that does not start with '.' or '-'");
}

}  // namespace lathe
