// Numbers as text, and checks of the values that have a syntax of their own.
#pragma once

#include <optional>
#include <string>

namespace lathe {

// Decimal numbers, the whole text, the same in every locale; nothing for "5asdf", "0,1", "nan", "1e999".
std::optional<double> parse_real(const std::string& text);
std::optional<long long> parse_integer(const std::string& text);
std::optional<bool> parse_on_off(const std::string& text);  // on|off, true|false, yes|no, 1|0

// Each throws Error(usage) that says what is accepted.
void check_data(const std::string& value);       // fruit[:…], folder:DIR, cifar10:DIR, …
void check_augment(const std::string& value);    // a level, or name=value,…; for some size of picture
void check_normalize(const std::string& value);  // a name, or m,m,m/s,s,s
void check_freeze(const std::string& value);     // none, features, first:K
void check_name(const std::string& value);       // one folder name

}  // namespace lathe
