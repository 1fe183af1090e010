// Plain POSIX descriptors: nothing is buffered here, so each system call that can fail is in sight.
#include "engine/runtime/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "engine/runtime/error.h"
#include "engine/runtime/printable.h"

namespace lathe {
namespace fs = std::filesystem;

namespace {

[[noreturn]] void throw_errno(const fs::path& path, const std::string& action, int cause) {
  throw Error(ExitCode::failure, fmt::format("{}: cannot {}: {}", printable(path.string()), action,
                                             std::generic_category().message(cause)));
}

// The rename itself is on disk only once its folder is.
void sync_folder(const fs::path& file) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) throw_errno(folder, "open the folder", errno);
  const int status = ::fsync(fd);
  const int cause = errno;
  ::close(fd);
  if (status != 0 && cause != EINVAL) throw_errno(folder, "sync the folder", cause);  // EINVAL: cannot sync
}

}  // namespace

bool write_all(int fd, std::span<const std::byte> bytes) noexcept {
  constexpr size_t kMostAtOnce = 1U << 30;  // Linux writes at most 2 GiB a call
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), std::min(bytes.size(), kMostAtOnce));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

AtomicFile::AtomicFile(const fs::path& path) : path_(path) {
  std::error_code error;  // through symbolic links, also such as lead to a file that is to come
  for (int links = 0; links < 40 && fs::is_symlink(fs::symlink_status(path_, error)); ++links)
    path_ = path_.parent_path() / fs::read_symlink(path_, error);
  struct stat previous {};
  const bool exists = ::stat(path_.c_str(), &previous) == 0;
  // A rename would replace a device such as /dev/full with a file.
  if (exists && !S_ISREG(previous.st_mode)) {
    throw Error(ExitCode::failure, printable(path_.string()) + ": cannot write: not a regular file");
  }
  temporary_ = path_;
  temporary_ += ".tmp";
  open_temporary();
  if (exists && ::fchmod(fd_, previous.st_mode & 07777) != 0) fail("set the permissions of");
  if (::ftruncate(fd_, 0) != 0) fail("write");
}

void AtomicFile::open_temporary() {
  for (;;) {
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd_ < 0) throw_errno(temporary_, "write", errno);
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(fd_);
      throw Error(ExitCode::failure,
                  printable(path_.string()) + ": cannot write: another process is saving it");
    }
    // The previous holder of the lock may have renamed or removed the file that we opened: then try again.
    if (temporary_is_ours()) return;
    ::close(fd_);
  }
}

bool AtomicFile::temporary_is_ours() const noexcept {
  struct stat opened {
  }, named{};
  return ::fstat(fd_, &opened) == 0 && ::stat(temporary_.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() noexcept {
  if (fd_ < 0) return;
  if (temporary_is_ours()) ::unlink(temporary_.c_str());
  ::close(fd_);
  fd_ = -1;
}

void AtomicFile::fail(const std::string& action) {
  const int cause = errno;
  discard();
  throw_errno(path_, action, cause);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (fd_ < 0) throw Error(ExitCode::failure, printable(path_.string()) + ": cannot write: already closed");
  if (!write_all(fd_, bytes)) fail("write");
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::commit() {
  if (fd_ < 0) throw Error(ExitCode::failure, printable(path_.string()) + ": cannot write: already closed");
  if (::fsync(fd_) != 0) fail("write");
  if (!temporary_is_ours()) {
    discard();
    throw Error(ExitCode::failure,
                fmt::format("{}: cannot write: {}, through which it is saved, was removed or written over",
                            printable(path_.string()), printable(temporary_.string())));
  }
  // Renamed before it is closed: the lock must cover the rename.
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("replace");
  const int status = ::close(fd_);
  fd_ = -1;
  if (status != 0) throw_errno(path_, "close", errno);
  sync_folder(path_);
}

void write_file_atomically(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace lathe
