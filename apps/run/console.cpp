// Writes with write(2): a stream's buffer would hide what failed, and lose it at a crash.
#include "apps/run/console.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <system_error>

#include "engine/runtime/atomic_file.h"
#include "engine/runtime/error.h"
#include "engine/runtime/printable.h"

namespace lathe {

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

bool is_number(std::string_view cell) {
  return !cell.empty() && cell.find_first_of("0123456789") != std::string_view::npos &&
         (std::isdigit(static_cast<unsigned char>(cell[0])) != 0 || cell[0] == '-' || cell[0] == '+');
}

template <typename Use>
void for_each_line(std::string_view text, Use use) {
  for (;;) {
    const size_t end = text.find('\n');
    use(printable(text.substr(0, end), std::string_view::npos));
    if (end == std::string_view::npos || end + 1 == text.size()) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

void prepare_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) == -1 && ::open("/dev/null", O_RDWR) != fd)
      std::abort();  // open takes the lowest
  }
}

Console::Console(int out, int err)
    : out_(out),
      err_(err),
      interactive_(::isatty(err) == 1 && environment("TERM") != "dumb"),
      colour_(interactive_ && environment("NO_COLOR").empty()) {}

Console::~Console() { clear_status(); }

void Console::log_to(const std::filesystem::path& train_log) { log_ = std::make_unique<LineFile>(train_log); }

void Console::result(std::string_view text) { print(out_, "", "", text); }
void Console::note(std::string_view text) { print(err_, "", "", text); }
void Console::warning(std::string_view text) { print(err_, "warning: ", "\x1b[33m", text); }
void Console::error(std::string_view text) { print(err_, "lathe: ", "\x1b[31m", text); }

void Console::log_only(std::string_view text) {
  const std::lock_guard lock(mutex_);
  for_each_line(text, [&](const std::string& line) { log(line); });
}

void Console::print(int stream, std::string_view prefix, const char* colour, std::string_view text) {
  const std::lock_guard lock(mutex_);
  clear_status();
  std::string shown;
  for_each_line(text, [&](const std::string& line) {
    const bool coloured = colour_ && *colour != '\0';
    shown += fmt::format("{}{}{}{}\n", coloured ? colour : "", prefix, coloured ? "\x1b[0m" : "", line);
    log(fmt::format("{}{}", prefix, line));
  });
  put(stream, shown);
}

void Console::put(int stream, const std::string& text) {
  bool& closed = stream == out_ ? out_closed_ : err_closed_;
  if (closed || write_all(stream, std::as_bytes(std::span(text)))) return;
  closed = true;
  if (errno != EPIPE && !failure_) {
    failure_ = fmt::format("{}: cannot write: {}", stream == out_ ? "stdout" : "stderr",
                           std::generic_category().message(errno));
  }
}

void Console::log(const std::string& line) {
  if (!log_) return;
  try {
    log_->write_line(line);
  } catch (const Error& error) {
    log_.reset();
    if (!failure_) failure_ = error.what();
    put(err_, fmt::format("warning: {}; the run goes on without train.log\n", error.what()));
  }
}

int Console::columns() const {
  winsize size{};
  return ::ioctl(err_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void Console::status(std::string_view line) {
  if (!interactive_) return;
  const std::lock_guard lock(mutex_);
  std::string text = printable(line, std::string_view::npos);
  const size_t limit = static_cast<size_t>(columns()) - 1;  // the last column would wrap
  for (size_t at = 0, width = 0; at < text.size(); ++at) {
    if (!is_continuation(text[at]) && ++width > limit) text.resize(at);
  }
  const size_t width = text_width(text);
  const std::string blank(std::max(status_width_, width) - width, ' ');  // over the rest of a longer line
  put(err_, "\r" + text + blank);
  status_width_ = width;
}

void Console::clear_status() {
  if (status_width_ == 0) return;
  put(err_, "\r" + std::string(status_width_, ' ') + "\r");
  status_width_ = 0;
}

void Console::finish() {
  const std::lock_guard lock(mutex_);
  clear_status();
  if (!failure_) return;
  const std::string failure = *failure_;
  failure_.reset();
  throw Error(ExitCode::failure, failure);
}

size_t text_width(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return !is_continuation(c); }));
}

std::string format_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  std::vector<char> numeric;
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t c = 0; c < rows[r].size(); ++c) {
      if (c == widths.size()) widths.push_back(0), numeric.push_back(1);
      widths[c] = std::max(widths[c], text_width(printable(rows[r][c])));
      if (r > 0 && !is_number(rows[r][c]) && rows[r][c] != "-" && !rows[r][c].empty()) numeric[c] = 0;
    }
  }
  std::string table;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string cell = printable(row[c]);
      const std::string blank(widths[c] - text_width(cell), ' ');
      line += (c > 0 ? "  " : "") + (numeric[c] != 0 ? blank + cell : cell + blank);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    table += line + "\n";
  }
  return table;
}

std::string format_bytes(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (std::abs(bytes) >= 1023.95 && unit + 1 < std::size(kUnits)) bytes /= 1024, ++unit;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e9) return "-:--";
  const auto total = static_cast<int64_t>(std::llround(seconds));
  const int64_t hours = total / 3600, minutes = total / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, total % 60)
                   : fmt::format("{}:{:02}", minutes, total % 60);
}

}  // namespace lathe
