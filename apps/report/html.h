// A self-contained HTML page: no external address, readable with scripts off, in light and dark.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lathe {

// Text from outside (names, paths, command lines) for use in HTML and in attributes: escaped, control
// characters made visible, cut to `max_bytes`.
std::string html_text(std::string_view text, size_t max_bytes = 200);

// The whole page around `body`, which must be HTML already.
std::string html_page(std::string_view title, std::string_view body);

// One section with its heading; `id` is its anchor. An empty body gives nothing.
std::string html_section(std::string_view id, std::string_view heading, std::string_view body);

// Name-value pairs. Cells are escaped.
std::string html_facts(const std::vector<std::pair<std::string, std::string>>& facts);

// A table, its first row the heading. Cells are HTML already; columns of `numeric` ('n' at their place) go
// to the right.
std::string html_table(const std::vector<std::vector<std::string>>& rows, std::string_view numeric = "");

// A part that opens on a click.
std::string html_details(std::string_view summary, std::string_view body);

}  // namespace lathe
