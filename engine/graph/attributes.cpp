#include "engine/graph/attributes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

namespace lathe {

template <typename T>
const T& Attributes::get(std::string_view name) const {
  auto found = items_.find(name);
  const T* value = found == items_.end() ? nullptr : std::get_if<T>(&found->second);
  if (value == nullptr)
    throw std::logic_error(fmt::format("attribute '{}' is missing or of another kind", name));
  return *value;
}
template const int64_t& Attributes::get<int64_t>(std::string_view) const;
template const double& Attributes::get<double>(std::string_view) const;
template const std::string& Attributes::get<std::string>(std::string_view) const;
template const std::vector<int64_t>& Attributes::get<std::vector<int64_t>>(std::string_view) const;
template const std::vector<double>& Attributes::get<std::vector<double>>(std::string_view) const;

namespace {
struct Printer {
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return value; }
  template <typename T>
  std::string operator()(const std::vector<T>& values) const {
    return fmt::format("{}", fmt::join(values, ","));
  }
};
}  // namespace

std::string to_string(const Attributes& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes.items()) {
    if (!text.empty()) text += ' ';
    text += name + "=" + std::visit(Printer{}, value);
  }
  return text;
}

}  // namespace lathe
