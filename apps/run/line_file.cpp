// Plain POSIX descriptors, for the same reason as in engine/runtime/atomic_file.cpp.
#include "apps/run/line_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "engine/runtime/atomic_file.h"
#include "engine/runtime/error.h"
#include "engine/runtime/printable.h"

namespace lathe {

LineFile::LineFile(const std::filesystem::path& path)
    : LineFile(path.string(), ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (fd_ < 0) fail("open");
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw Error(ExitCode::failure,
                printable(path_) + ": another process is writing this run; wait for it or use --out");
  }
  struct stat info {};
  if (::fstat(fd_, &info) != 0) fail("open");
  regular_ = S_ISREG(info.st_mode);
  if (!regular_) return;
  size_ = info.st_size;
  drop_half_line();
}

LineFile::~LineFile() {
  if (fd_ >= 0) ::close(fd_);
}

void LineFile::drop_half_line() {
  const int64_t size = size_;
  for (char last = 0; size_ > 0; --size_) {
    if (::pread(fd_, &last, 1, size_ - 1) != 1) fail("read");
    if (last == '\n') break;
  }
  if (size_ != size && ::ftruncate(fd_, size_) != 0) fail("shorten");
}

void LineFile::write_line(std::string_view line) {
  std::string text(line);
  text += '\n';
  if (!write_all(fd_, std::as_bytes(std::span(text)))) {
    const int cause = errno;
    if (regular_ && ::ftruncate(fd_, size_) != 0) size_ = -1;  // nothing more to do: the cause is reported
    errno = cause;
    fail("write");
  }
  size_ += static_cast<int64_t>(text.size());
}

void LineFile::fail(const std::string& action) {
  throw Error(ExitCode::failure, fmt::format("{}: cannot {}: {}", printable(path_), action,
                                             std::generic_category().message(errno)));
}

}  // namespace lathe
