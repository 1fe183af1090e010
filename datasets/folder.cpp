// Scans a folder of class folders; see folder.h.
#include "datasets/folder.h"

#include <algorithm>
#include <filesystem>

#include "engine/runtime/error.h"
#include "engine/runtime/printable.h"
#include "engine/runtime/suggest.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 64;
constexpr size_t kMaxName = 4096;  // of a path in a message

// What operating systems and tools leave in folders.
bool is_junk(const std::string& name) {
  static const std::vector<std::string> kJunk = {
      "thumbs.db",    "desktop.ini", "ehthumbs.db", "__macosx",
      "$recycle.bin", "lost+found",  "@eadir",      "system volume information"};
  return name.starts_with('.') || std::find(kJunk.begin(), kJunk.end(), lower(name)) != kJunk.end();
}

bool is_picture_name(const std::string& name) {
  static const std::vector<std::string> kEndings = {".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".bmp"};
  const std::string ending = lower(fs::path(name).extension().native());
  return std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end();
}

// The names in a folder, without junk, in byte order.
std::vector<std::string> names_in(const fs::path& directory) {
  std::error_code error;
  std::vector<std::string> names;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().native();
    if (!is_junk(name)) names.push_back(name);
  }
  if (error) throw Error(ExitCode::data, printable(directory.native()) + ": " + error.message());
  std::sort(names.begin(), names.end());  // std::string compares bytes
  return names;
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// Counts what is ignored, to say so in one line.
struct Ignored {
  int64_t count = 0;
  std::string first;
  void add(const fs::path& path) {
    if (count++ == 0) first = path.native();
  }
};

struct Scan {
  std::vector<std::string> files;
  Ignored other;
  std::vector<fs::path> open;  // folders that are being read, links resolved

  // Adds the pictures below a folder.
  void read(const fs::path& directory) {
    std::error_code error;
    const fs::path real = fs::canonical(directory, error);
    const bool loop = std::find(open.begin(), open.end(), real) != open.end();
    if (error || loop || open.size() > kMaxDepth) return other.add(directory);
    open.push_back(real);
    for (const std::string& name : names_in(directory)) {
      const fs::path path = directory / name;
      const fs::file_status status = fs::status(path, error);
      if (fs::is_directory(status)) {
        read(path);
      } else if (is_picture_name(name) && (fs::is_regular_file(status) || !fs::exists(status))) {
        files.push_back(path.native());  // a link to nowhere is a bad picture, to be named as one
      } else {
        other.add(path);
      }
    }
    open.pop_back();
  }
};

class Folder final : public Source {
 public:
  Folder(Decoder decoder, std::vector<std::string> classes, std::vector<std::string> files,
         std::vector<int32_t> labels)
      : decoder_(decoder),
        classes_(std::move(classes)),
        files_(std::move(files)),
        labels_(std::move(labels)) {}
  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(int64_t index) const override { return labels_[index]; }
  std::string name(int64_t index) const override { return printable(files_[index], kMaxName); }
  Picture read(int64_t index) const override { return decode_file(files_[index], decoder_); }

 private:
  Decoder decoder_;
  std::vector<std::string> classes_, files_;
  std::vector<int32_t> labels_;
};

void warn(const Ignored& ignored, const std::string& what, std::vector<std::string>& warnings) {
  if (ignored.count == 0) return;
  warnings.push_back(std::to_string(ignored.count) + " " + what + ", the first: " + printable(ignored.first));
}

}  // namespace

std::unique_ptr<Source> folder_source(const std::string& directory, Decoder decoder,
                                      std::vector<std::string>& warnings) {
  if (!is_folder(directory)) throw Error(ExitCode::data, printable(directory) + ": no such folder");
  std::vector<std::string> classes, files;
  std::vector<int32_t> labels;
  Ignored stray, other;
  for (const std::string& name : names_in(directory)) {
    const fs::path path = fs::path(directory) / name;
    if (!is_folder(path)) {
      if (is_picture_name(name)) stray.add(path);
      continue;
    }
    if (!is_plain_text(name)) {
      throw Error(ExitCode::data, printable(directory) +
                                      ": a class folder has a control character or bytes that are not UTF-8 "
                                      "in its name: rename it");
    }
    Scan scan;
    scan.read(path);
    std::sort(scan.files.begin(), scan.files.end());
    if (scan.files.empty()) warnings.push_back(directory + ": class '" + name + "' has no pictures");
    if (other.count == 0) other.first = scan.other.first;
    other.count += scan.other.count;
    labels.insert(labels.end(), scan.files.size(), static_cast<int32_t>(classes.size()));
    std::move(scan.files.begin(), scan.files.end(), std::back_inserter(files));
    classes.push_back(name);
  }
  warn(stray, "pictures are not in a class folder and are ignored", warnings);
  warn(other, "files are not JPEG, PNG or BMP by their names and are ignored", warnings);
  if (classes.empty()) {
    throw Error(ExitCode::data, printable(directory) +
                                    ": no class folders; put each class's pictures in a folder of its own");
  }
  if (files.empty())
    throw Error(ExitCode::data, printable(directory) + ": no JPEG, PNG or BMP pictures in its class folders");
  return std::make_unique<Folder>(decoder, std::move(classes), std::move(files), std::move(labels));
}

std::optional<std::string> find_split(const std::string& directory, const std::vector<std::string>& names) {
  for (const std::string& split : names) {
    const fs::path path = fs::path(directory) / split;
    if (!is_folder(path)) continue;
    for (const std::string& name : names_in(path)) {
      if (is_folder(path / name)) return path.native();
    }
  }
  return std::nullopt;
}

}  // namespace lathe
