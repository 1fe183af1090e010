// A file of lines that grows while a run runs: events.jsonl, results.csv, train.log.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace lathe {

// Opens for appending. Each line is one write(), so a reader such as `tail -f` sees whole lines at once, and
// nothing waits in a buffer for a crash. A half line that an earlier crash left is removed.
// Every failure throws Error(failure) with path and cause; a line that did not fit is taken back.
class LineFile {
 public:
  explicit LineFile(const std::filesystem::path& path);  // refuses a file that another process has open
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  void write_line(std::string_view line);
  bool empty() const { return size_ == 0; }

 private:
  // Takes the descriptor, so that it is closed whatever the public constructor finds.
  LineFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  [[noreturn]] void fail(const std::string& action);
  void drop_half_line();

  std::string path_;
  int fd_;
  bool regular_ = false;
  int64_t size_ = 0;  // bytes, of whole lines
};

}  // namespace lathe
