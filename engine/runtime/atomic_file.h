// Saving a file so that a crash or a full disk never destroys the one that was there.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace lathe {

// Writes `path` through `path`.tmp in the same folder: write, fsync, rename, fsync of the folder. Until
// commit() succeeds the previous file stays as it is; a failure or a destructor without commit() removes
// the temporary file. What a killed process left behind is reused, never piled up.
// Every failure throws Error(failure) with path and cause. One writer at a time: a second one is refused.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();

 private:
  void open_temporary();
  bool temporary_is_ours() const noexcept;  // its name still leads to what is open
  [[noreturn]] void fail(const std::string& action);
  void discard() noexcept;

  std::filesystem::path path_, temporary_;
  int fd_ = -1;
};

// A whole text file in one go.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

// All of `bytes` to a file descriptor, through short writes and EINTR. False on failure, cause in errno.
bool write_all(int fd, std::span<const std::byte> bytes) noexcept;

}  // namespace lathe
