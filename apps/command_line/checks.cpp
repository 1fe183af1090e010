// Values with a syntax of their own: numbers, data sources, augmentation lists, normalisation, freezing.
#include "apps/command_line/checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <set>
#include <vector>

#include "engine/runtime/suggest.h"

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

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  for (size_t end; (end = text.find(separator, start)) != std::string::npos; start = end + 1)
    parts.push_back(text.substr(start, end - start));
  parts.push_back(text.substr(start));
  return parts;
}

struct AugmentItem {
  const char* name;
  double least, most;
  bool whole;
  const char* meaning;
};
// Ranges that keep a picture a picture; datasets/ says what each does.
const std::vector<AugmentItem> kAugmentItems = {
    {"crop", 0, 512, true, "padding in pixels"},
    {"resized-crop", 0.01, 1, false, "smallest share of the area"},
    {"flip", 0, 1, false, "probability"},
    {"rotation", 0, 180, false, "degrees"},
    {"zoom", 0, 0.9, false, "largest change of scale"},
    {"shift", 0, 1, false, "share of the width"},
    {"brightness", 0, 1, false, "largest change"},
    {"contrast", 0, 1, false, "largest change"},
    {"saturation", 0, 1, false, "largest change"},
    {"cutout", 0, 2048, true, "side in pixels"},
};

std::string check_augment_item(const std::string& text) {
  std::vector<std::string> names;
  for (const AugmentItem& item : kAugmentItems) names.emplace_back(item.name);
  std::string name = text.substr(0, text.find('='));
  for (const AugmentItem& item : kAugmentItems) {
    if (name != item.name) continue;
    auto number = parse_real(text.substr(std::min(text.size(), name.size() + 1)));
    bool good = number && *number >= item.least && *number <= item.most &&
                (!item.whole || *number == std::floor(*number));
    return good ? "" : fmt::format("{}= takes a {}number from {} to {} ({})", name, item.whole ? "whole " : "",
                                   item.least, item.most, item.meaning);
  }
  return fmt::format("none, light, standard, heavy, or a list of NAME=VALUE with {}{}", fmt::join(names, ", "),
                     did_you_mean(name, names));
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

std::string check_data(const std::string& value) {
  static const std::vector<std::string> sources = {"fruit", "folder", "cifar10", "cifar100", "idx"};
  size_t colon = value.find(':');
  std::string source = value.substr(0, colon);
  bool has_rest = colon != std::string::npos && colon + 1 < value.size();
  if (std::find(sources.begin(), sources.end(), source) == sources.end()) {
    bool a_path = value.find('/') != std::string::npos || value == "." || value == "..";
    return "fruit, folder:DIR, cifar10:DIR, cifar100:DIR or idx:DIR" +
           (a_path ? "; did you mean 'folder:" + value + "'?" : did_you_mean(source, sources));
  }
  if (source == "fruit" ? colon != std::string::npos && !has_rest : !has_rest)
    return source == "fruit" ? "fruit or fruit:OPTIONS" : source + ":DIR";
  return "";
}

std::string check_augment(const std::string& value) {
  static const std::set<std::string> levels = {"none", "light", "standard", "heavy"};
  if (levels.count(value)) return "";
  if (value.find('=') == std::string::npos) {
    std::string problem = check_augment_item(value);
    std::string level = nearest(value, levels);
    return level.empty() || problem.find("did you mean") != std::string::npos
               ? problem
               : problem + "; did you mean '" + level + "'?";
  }
  std::set<std::string> seen;
  for (const std::string& item : split(value, ',')) {
    if (std::string problem = check_augment_item(item); !problem.empty()) return problem;
    std::string name = item.substr(0, item.find('='));
    if (!seen.insert(name).second) return "each name once; " + name + " is given twice";
  }
  return "";
}

std::string check_normalize(const std::string& value) {
  static const std::vector<std::string> names = {"cifar10", "imagenet", "none"};
  if (std::find(names.begin(), names.end(), value) != names.end()) return "";
  std::string accepted = "cifar10, imagenet, none, or MEANS/DEVIATIONS such as 0.5,0.5,0.5/0.25,0.25,0.25";
  auto halves = split(value, '/');
  if (halves.size() != 2) return accepted + did_you_mean(value, names);
  for (size_t half = 0; half < 2; ++half) {
    auto numbers = split(halves[half], ',');
    if (numbers.size() != 3) return accepted;
    for (const std::string& text : numbers) {
      auto number = parse_real(text);
      if (!number || (half == 1 && !(static_cast<float>(*number) > 0))) return accepted + " (deviations above 0)";
    }
  }
  return "";
}

std::string check_freeze(const std::string& value) {
  static const std::vector<std::string> names = {"none", "features", "first:"};
  if (value == "none" || value == "features") return "";
  if (value.rfind("first:", 0) == 0) {
    auto count = parse_integer(value.substr(6));
    return count && *count >= 1 && *count <= 16 ? "" : "first:K with K layers from 1 to 16";
  }
  return "none, features, or first:K with K layers from 1 to 16" + did_you_mean(value, names);
}

std::string check_name(const std::string& value) {
  bool good = value.size() <= 200 && value[0] != '.' && value[0] != '-';
  for (unsigned char c : value) good = good && c > 0x20 && c != 0x7f && c != '/' && c != '\\';
  return good ? "" : "one folder name: no '/', spaces or control characters, not starting with '.' or '-'";
}

}  // namespace lathe
