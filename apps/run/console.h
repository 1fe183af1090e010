// Where a run speaks: results to stdout, everything else to stderr, plain copies of both to train.log.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/run/line_file.h"

namespace lathe {

// To be called first in main: a closed pipe and a file-size limit become errors of write() instead of
// killing the run, and a closed stdin, stdout or stderr is /dev/null, so that no file gets its number.
void prepare_streams();

// Lines from any thread. Control characters in them, such as a class name may hold, are shown as \xNN.
// Output that fails never stops a run: a closed pipe is ignored, another cause is kept for finish().
class Console {
 public:
  explicit Console(int out = 1, int err = 2);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void log_to(const std::filesystem::path& train_log);  // Error(failure) where it cannot be opened

  void result(std::string_view text);   // stdout; may hold several lines
  void note(std::string_view text);     // stderr
  void warning(std::string_view text);  // stderr, "warning: …"
  void error(std::string_view text);    // stderr, "lathe: …"

  // A terminal that can redraw a line (not TERM=dumb).
  bool interactive() const { return interactive_; }
  int columns() const;
  // Draws `line` over the last status. Interactive only: elsewhere it does nothing.
  void status(std::string_view line);
  void log_only(std::string_view text);  // train.log alone: what the status line shows passes away

  // Clears the status line. Error(failure) where output or train.log could not be written, once.
  void finish();

 private:
  void print(int stream, std::string_view prefix, const char* colour, std::string_view text);
  void put(int stream, const std::string& text);
  void clear_status();
  void log(const std::string& line);

  std::mutex mutex_;
  int out_, err_;
  bool interactive_, colour_;
  bool out_closed_ = false, err_closed_ = false;
  size_t status_width_ = 0;
  std::unique_ptr<LineFile> log_;
  std::optional<std::string> failure_;
};

// Aligned columns, the first row as the heading; columns whose cells are numbers go to the right.
std::string format_table(const std::vector<std::vector<std::string>>& rows);

std::string format_bytes(double bytes);       // "2.1 GiB"
std::string format_duration(double seconds);  // "0:04", "1:02:03"; "-:--" where not finite
// Columns that `text` takes on a terminal, one a character.
size_t text_width(std::string_view text);

}  // namespace lathe
