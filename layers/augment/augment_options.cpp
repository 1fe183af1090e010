#include "layers/augment/augment_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "engine/runtime/error.h"
#include "engine/runtime/suggest.h"

namespace lathe {
namespace {

struct Item {
  const char* name;
  double AugmentOptions::*value;
  double least, most;
  bool whole;
};
const std::vector<Item> kItems = {
    {"crop", &AugmentOptions::crop, 0, 512, true},
    {"resized-crop", &AugmentOptions::resized_crop, 0.01, 1, false},
    {"flip", &AugmentOptions::flip, 0, 1, false},
    {"rotation", &AugmentOptions::rotation, 0, 180, false},
    {"zoom", &AugmentOptions::zoom, 0, 0.9, false},
    {"shift", &AugmentOptions::shift, 0, 1, false},
    {"brightness", &AugmentOptions::brightness, 0, 1, false},
    {"contrast", &AugmentOptions::contrast, 0, 1, false},
    {"saturation", &AugmentOptions::saturation, 0, 1, false},
    {"cutout", &AugmentOptions::cutout, 0, 2048, true},
};
const std::vector<std::string> kLevels = {"none", "light", "standard", "heavy"};
const std::vector<std::string> kNormalizations = {"cifar10", "imagenet", "none"};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  for (size_t end; (end = text.find(separator, start)) != std::string::npos; start = end + 1)
    parts.push_back(text.substr(start, end - start));
  parts.push_back(text.substr(start));
  return parts;
}

// The whole text as a finite number, the same in every locale.
std::optional<double> parse_number(const std::string& text) {
  double number = 0;
  const char* last = text.data() + text.size();
  auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last || !std::isfinite(number)) return std::nullopt;
  return number;
}

[[noreturn]] void refuse(const std::string& message) { throw Error(ExitCode::usage, message); }

AugmentOptions level(const std::string& name, int64_t image_size) {
  double pixels = static_cast<double>(image_size) / 32;
  AugmentOptions options;
  if (name == "none") return options;
  options.flip = 0.5;
  options.crop = std::floor(4 * pixels);
  if (name == "light") return options;
  bool heavy = name == "heavy";
  options.rotation = heavy ? 15 : 10;
  options.zoom = heavy ? 0.15 : 0;
  options.brightness = options.contrast = options.saturation = heavy ? 0.3 : 0.1;
  options.cutout = heavy ? std::floor(8 * pixels) : 0;
  return options;
}

void parse_item(const std::string& text, AugmentOptions& options) {
  std::string name = text.substr(0, text.find('='));
  for (const Item& item : kItems) {
    if (name != item.name) continue;
    auto value = name.size() < text.size() ? parse_number(text.substr(name.size() + 1)) : std::nullopt;
    if (!value || *value < item.least || *value > item.most || (item.whole && *value != std::floor(*value)))
      refuse(fmt::format("--augment: '{}' is not {}= with a {}number from {} to {}", text, name,
                         item.whole ? "whole " : "", item.least, item.most));
    options.*item.value = *value;
    return;
  }
  std::vector<std::string> known = augment_names();
  if (text.find('=') == std::string::npos) known.insert(known.end(), kLevels.begin(), kLevels.end());
  refuse(fmt::format("--augment: '{}' is none of {}, and no list of NAME=VALUE with {}{}", name,
                     fmt::join(kLevels, ", "), fmt::join(augment_names(), ", "), did_you_mean(name, known)));
}

std::array<double, 3> parse_three(const std::string& list, const std::string& whole, bool deviations) {
  std::array<double, 3> numbers{};
  std::vector<std::string> parts = split(list, ',');
  for (size_t i = 0; i < 3 && parts.size() == 3; ++i) {
    auto number = parse_number(parts[i]);
    if (!number || !std::isfinite(static_cast<float>(*number)) ||
        (deviations && static_cast<float>(*number) <= 0))
      refuse(fmt::format("--normalize {}: '{}' is not a {}number", whole, parts[i],
                         deviations ? "positive " : ""));
    numbers[i] = *number;
  }
  if (parts.size() != 3) refuse(fmt::format("--normalize {}: '{}' is not three numbers", whole, list));
  return numbers;
}

}  // namespace

std::vector<std::string> augment_names() {
  std::vector<std::string> names;
  for (const Item& item : kItems) names.emplace_back(item.name);
  return names;
}

AugmentOptions parse_augment(const std::string& text, int64_t image_size) {
  AugmentOptions options;
  if (std::find(kLevels.begin(), kLevels.end(), text) != kLevels.end()) {
    options = level(text, image_size);
  } else {
    std::set<std::string> seen;
    for (const std::string& item : split(text, ',')) {
      parse_item(item, options);
      std::string name = item.substr(0, item.find('='));
      if (!seen.insert(name).second) refuse("--augment: " + name + " is given twice; give it once");
    }
  }
  if (std::string reason = unfit(options, image_size, image_size); !reason.empty())
    refuse("--augment: " + reason);
  return options;
}

std::string to_string(const AugmentOptions& options) {
  std::vector<std::string> parts;
  for (const Item& item : kItems)
    if (options.*item.value != 0) parts.push_back(fmt::format("{}={}", item.name, options.*item.value));
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ","));
}

Normalization parse_normalize(const std::string& text) {
  if (text == "none") return {};
  if (text == "cifar10") return {{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}};
  if (text == "imagenet") return {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
  std::vector<std::string> halves = split(text, '/');
  if (halves.size() != 2)
    refuse(fmt::format("--normalize: '{}' is none of {}, and not M,M,M/S,S,S{}", text,
                       fmt::join(kNormalizations, ", "), did_you_mean(text, kNormalizations)));
  return {parse_three(halves[0], text, false), parse_three(halves[1], text, true)};
}

std::string unfit(const AugmentOptions& options, int64_t height, int64_t width) {
  for (const Item& item : kItems) {
    double value = options.*item.value;
    if (value != 0 &&
        !(value >= item.least && value <= item.most && (!item.whole || value == std::floor(value))))
      return fmt::format("{}={} is not a {}number from {} to {}", item.name, value,
                         item.whole ? "whole " : "", item.least, item.most);
  }
  auto side = static_cast<double>(std::min(height, width));
  if (options.crop >= side && options.crop > 0)
    return fmt::format("crop={} does not leave anything of a {}x{} picture; give less than {}", options.crop,
                       height, width, side);
  if (options.cutout > side)
    return fmt::format("cutout={} covers a whole {}x{} picture; give at most {}", options.cutout, height,
                       width, side);
  return "";
}

Attributes augment_attributes(const AugmentOptions& options, const Normalization& normalization,
                              int64_t height, int64_t width) {
  Attributes attributes{
      {"size", std::vector<int64_t>{height, width}},
      {"mean", std::vector<double>(normalization.mean.begin(), normalization.mean.end())},
      {"deviation", std::vector<double>(normalization.deviation.begin(), normalization.deviation.end())}};
  for (const Item& item : kItems)
    if (options.*item.value != 0) attributes.set(item.name, options.*item.value);
  return attributes;
}

AugmentOptions augment_options(const Attributes& attributes) {
  AugmentOptions options;
  for (const Item& item : kItems)
    if (attributes.has(item.name)) options.*item.value = attributes.real(item.name);
  return options;
}

Normalization normalization(const Attributes& attributes) {
  const auto &mean = attributes.reals("mean"), &deviation = attributes.reals("deviation");
  return {{mean.at(0), mean.at(1), mean.at(2)}, {deviation.at(0), deviation.at(1), deviation.at(2)}};
}

}  // namespace lathe
