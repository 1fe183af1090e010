// The parameters of a node that are known when the graph is built: strides, probabilities, names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lathe {

using Attribute = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;

// A sorted map, so that equal attributes print, compare and hash equally.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, Attribute>> items) : items_(items) {}

  bool has(std::string_view name) const { return items_.find(name) != items_.end(); }
  void set(const std::string& name, Attribute value) { items_[name] = std::move(value); }

  // The value of a name that must be there; std::logic_error otherwise (a bug, not bad input).
  int64_t integer(std::string_view name) const { return get<int64_t>(name); }
  double real(std::string_view name) const { return get<double>(name); }
  const std::string& text(std::string_view name) const { return get<std::string>(name); }
  const std::vector<int64_t>& integers(std::string_view name) const {
    return get<std::vector<int64_t>>(name);
  }
  const std::vector<double>& reals(std::string_view name) const { return get<std::vector<double>>(name); }

  const std::map<std::string, Attribute, std::less<>>& items() const { return items_; }
  bool operator==(const Attributes&) const = default;

 private:
  template <typename T>
  const T& get(std::string_view name) const;
  std::map<std::string, Attribute, std::less<>> items_;
};
std::string to_string(const Attributes& attributes);  // "padding=1 stride=1"

}  // namespace lathe
