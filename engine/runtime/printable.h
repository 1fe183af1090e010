// User text (names from files, folders, command lines) made safe for one line of a log or an error message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lathe {

// `text` with control characters as \xNN, cut to `max_bytes` (at a UTF-8 boundary) with "…" after it.
std::string printable(std::string_view text, size_t max_bytes = 200);

// Whether `text` is valid UTF-8 without control characters: fit for a name in JSON and in a line of output.
bool is_plain_text(std::string_view text);

}  // namespace lathe
