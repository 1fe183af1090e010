// mkdir(2) either makes a folder or says that somebody else has: that is the whole lock.
#include "apps/run/run_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <system_error>

#include "engine/runtime/error.h"
#include "engine/runtime/printable.h"

namespace lathe {
namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const fs::path& path, const std::error_code& cause) {
  throw Error(ExitCode::failure,
              fmt::format("{}: cannot make the folder: {}", printable(path.string()), cause.message()));
}

void make_parents(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail(path, error);
}

// True where this call made the folder, false where it was there.
bool make(const fs::path& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return true;
  if (errno == EEXIST) return false;
  fail(path, std::error_code(errno, std::generic_category()));
}

RunFolder with_subfolders(const fs::path& path) {
  make(path / "weights");
  make(path / "state");
  return {path};
}

int64_t last_number(const fs::path& folder) {
  int64_t last = 0;
  std::error_code error;  // a folder that cannot be listed: mkdir finds the free number, or says why not
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    int64_t number = 0;
    const auto [end, status] = std::from_chars(name.data(), name.data() + name.size(), number);
    constexpr int64_t kMost = 1'000'000'000;  // no count of runs, but somebody's own number
    bool counted = status == std::errc() && end == name.data() + name.size() && number < kMost;
    if (counted) last = std::max(last, number);
  }
  return last;
}

}  // namespace

RunFolder RunFolder::create(const std::string& command, const std::string& name, const fs::path& root) {
  if (name == "." || name == ".." || name.find_first_of(std::string("/\0", 2)) != std::string::npos) {
    throw Error(ExitCode::usage,
                fmt::format("\"{}\" cannot name a run; use --out for a path", printable(name)));
  }
  const fs::path parent = root / command;
  make_parents(parent);
  int64_t number = name.empty() ? last_number(parent) + 1 : 1;
  for (;; ++number) {
    const std::string leaf = name.empty()  ? std::to_string(number)
                             : number == 1 ? name
                                           : fmt::format("{}-{}", name, number);
    if (make(parent / leaf)) return with_subfolders(parent / leaf);
  }
}

RunFolder RunFolder::create_at(const fs::path& given) {
  const fs::path path = given.has_filename() ? given : given.parent_path();  // "out/" is "out"
  if (path.has_parent_path()) make_parents(path.parent_path());
  std::error_code error;
  const bool is_new = make(path);
  if (!is_new && (!fs::is_directory(path, error) || !fs::is_empty(path, error) || error)) {
    throw Error(ExitCode::usage, fmt::format("--out {}: exists and is not an empty folder; name another",
                                             printable(path.string())));
  }
  // Two runs may both see the same empty folder: the one that makes weights/ has it.
  if (!make(path / "weights")) {
    throw Error(ExitCode::usage,
                fmt::format("--out {}: another run has just taken it", printable(path.string())));
  }
  return with_subfolders(path);
}

RunFolder RunFolder::open(const fs::path& path) {
  const RunFolder folder{path.has_filename() ? path : path.parent_path()};
  std::error_code error;
  if (!fs::is_regular_file(folder.state(), error)) {
    throw Error(ExitCode::usage,
                fmt::format("--resume {}: no state/last.safetensors there; give the folder of a run",
                            printable(path.string())));
  }
  return with_subfolders(folder.path);
}

}  // namespace lathe
