// The page's frame. The policy in its head forbids what the page must not need: scripts and the network.
#include "apps/report/html.h"

#include <fmt/format.h>

#include "apps/report/style.h"
#include "engine/runtime/printable.h"

namespace lathe {

std::string html_text(std::string_view text, size_t max_bytes) {
  std::string out;
  for (const char c : printable(text, max_bytes)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string html_page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>{}</style>\n</head>\n"
      "<body>\n<main>\n{}</main>\n</body>\n</html>\n",
      html_text(title), kStyle, body);
}

std::string html_section(std::string_view id, std::string_view heading, std::string_view body) {
  if (body.empty()) return "";
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", id, heading, body);
}

std::string html_facts(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string rows;
  for (const auto& [name, value] : facts) {
    rows += fmt::format("<dt>{}</dt><dd>{}</dd>\n", html_text(name), html_text(value, 2000));
  }
  return rows.empty() ? "" : "<dl>\n" + rows + "</dl>\n";
}

std::string html_table(const std::vector<std::vector<std::string>>& rows, std::string_view numeric) {
  std::string table;
  for (size_t r = 0; r < rows.size(); ++r) {
    const char* tag = r == 0 ? "th" : "td";
    table += r == 0 ? "<thead><tr>" : "<tr>";
    for (size_t c = 0; c < rows[r].size(); ++c) {
      const bool right = c < numeric.size() && numeric[c] == 'n';
      table += fmt::format("<{}{}>{}</{}>", tag, right ? " class=\"n\"" : "", rows[r][c], tag);
    }
    table += r == 0 ? "</tr></thead>\n<tbody>\n" : "</tr>\n";
  }
  return rows.empty() ? "" : "<div class=\"scroll\"><table>" + table + "</tbody></table></div>\n";
}

std::string html_details(std::string_view summary, std::string_view body) {
  if (body.empty()) return "";
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", summary, body);
}

}  // namespace lathe
