// Checks of values that have a syntax of their own. Each returns "" for a good value, else what is accepted.
#pragma once

#include <optional>
#include <string>

namespace lathe {

// Decimal numbers, the whole text, the same in every locale; nothing for "5asdf", "0,1", "nan", "1e999".
std::optional<double> parse_real(const std::string& text);
std::optional<long long> parse_integer(const std::string& text);
std::optional<bool> parse_on_off(const std::string& text);  // on|off, true|false, yes|no, 1|0

std::string check_data(const std::string& value);       // fruit[:…], folder:DIR, cifar10:DIR, …
std::string check_augment(const std::string& value);    // a level, or name=value,…
std::string check_normalize(const std::string& value);  // a name, or m,m,m/s,s,s
std::string check_freeze(const std::string& value);     // none, features, first:K
std::string check_name(const std::string& value);       // one folder name

}  // namespace lathe
