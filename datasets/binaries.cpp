// Reads CIFAR and IDX files; see binaries.h.
#include "datasets/binaries.h"

#include <algorithm>
#include <filesystem>

#include "datasets/decode.h"
#include "datasets/views.h"
#include "engine/runtime/error.h"
#include "engine/runtime/printable.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kCifarPixels = 3 * 32 * 32;

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::string line;
  for (const uint8_t byte : read_file(path)) {
    if (byte != '\n' && byte != '\r') {
      line.push_back(static_cast<char>(byte));
    } else if (!line.empty()) {
      lines.push_back(std::move(line));
      line.clear();
    }
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

// Appends the records of one file: label_bytes labels, of which the last counts, then R, G and B planes.
void append_cifar(const std::string& path, int64_t label_bytes, PackedPictures& pictures) {
  const std::vector<uint8_t> bytes = read_file(path);
  const int64_t record = label_bytes + kCifarPixels;
  const auto size = static_cast<int64_t>(bytes.size());
  if (size == 0 || size % record != 0) {
    throw Error(ExitCode::data, path + ": " + std::to_string(size) +
                                    " bytes is no whole number of pictures of " + std::to_string(record) +
                                    " bytes; is the file complete?");
  }
  for (int64_t at = 0; at < size; at += record) {
    const int32_t label = bytes[at + label_bytes - 1];
    if (label >= static_cast<int32_t>(pictures.classes.size())) {
      throw Error(ExitCode::data, path + ": picture " + std::to_string(at / record) + " has label " +
                                      std::to_string(label) + ", but there are " +
                                      std::to_string(pictures.classes.size()) + " classes");
    }
    pictures.labels.push_back(label);
  }
  const int64_t count = size / record;
  const auto before = static_cast<int64_t>(pictures.pixels.size());
  pictures.pixels.resize(before + count * kCifarPixels);
  for (int64_t i = 0; i < count; ++i) {
    std::copy_n(&bytes[i * record + label_bytes], kCifarPixels, &pictures.pixels[before + i * kCifarPixels]);
  }
}

std::unique_ptr<Source> cifar_source(std::string directory, const std::string& archive_folder,
                                     const std::string& names, size_t classes, int64_t label_bytes,
                                     const std::vector<std::string>& files, const std::string& name) {
  std::error_code unreadable;  // then reading the files says why
  if (fs::is_directory(fs::path(directory) / archive_folder, unreadable)) directory += "/" + archive_folder;
  PackedPictures pictures{32, 32, 3, {}, {}, lines_of(directory + "/" + names), name};
  if (pictures.classes.size() != classes) {
    throw Error(ExitCode::data, directory + "/" + names + ": has " + std::to_string(pictures.classes.size()) +
                                    " class names instead of " + std::to_string(classes));
  }
  for (const std::string& line : pictures.classes) {
    bool repeated = std::count(pictures.classes.begin(), pictures.classes.end(), line) > 1;
    if (repeated || !is_plain_text(line)) {
      throw Error(ExitCode::data, directory + "/" + names + ": the class name '" + printable(line) + "' " +
                                      (repeated ? "is there twice" : "is no readable text"));
    }
  }
  for (const std::string& file : files) append_cifar(directory + "/" + file, label_bytes, pictures);
  return packed_source(std::move(pictures));
}

// The header and the data of one IDX file: 0, 0, 8 (unsigned bytes), rank, then big-endian extents.
struct Idx {
  std::string path;
  std::vector<uint8_t> bytes;
  std::vector<int64_t> extents;
  size_t data_at;
};

Idx read_idx(const std::string& directory, const std::string& stem, int rank) {
  const std::string kind = "idx" + std::to_string(rank) + "-ubyte";
  std::string path = directory + "/" + stem + "-" + kind;
  auto exists = [](const std::string& file) {
    std::error_code unreadable;  // then reading it says why
    return fs::exists(file, unreadable);
  };
  if (!exists(path) && exists(directory + "/" + stem + "." + kind))
    path = directory + "/" + stem + "." + kind;
  if (!exists(path) && exists(path + ".gz"))
    throw Error(ExitCode::data, path + ".gz: unpack it first (gunzip)");
  Idx idx{path, read_file(path), {}, 4 + 4 * static_cast<size_t>(rank)};
  const std::vector<uint8_t>& b = idx.bytes;
  if (b.size() < idx.data_at || b[0] != 0 || b[1] != 0 || b[2] != 8 || b[3] != rank) {
    throw Error(ExitCode::data,
                path + ": not an IDX file of unsigned bytes with " + std::to_string(rank) + " dimensions");
  }
  for (size_t at = 4; at < idx.data_at; at += 4) {
    idx.extents.push_back(int64_t{b[at]} << 24 | b[at + 1] << 16 | b[at + 2] << 8 | b[at + 3]);
  }
  auto expected = static_cast<int64_t>(b.size() - idx.data_at);  // divided down, so that nothing overflows
  for (size_t i = idx.extents.size(); i-- > 1;) {
    if (idx.extents[i] == 0 || expected % idx.extents[i] != 0) expected = -1;
    if (expected > 0) expected /= idx.extents[i];
  }
  if (idx.extents[0] == 0 || expected != idx.extents[0]) {
    throw Error(ExitCode::data, path + ": its size does not match its header; is the file complete?");
  }
  return idx;
}

}  // namespace

std::unique_ptr<Source> cifar10_source(const std::string& directory, bool train) {
  const std::vector<std::string> training = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                             "data_batch_4.bin", "data_batch_5.bin"};
  return cifar_source(directory, "cifar-10-batches-bin", "batches.meta.txt", 10, 1,
                      train ? training : std::vector<std::string>{"test_batch.bin"},
                      train ? "cifar10/train" : "cifar10/test");
}

std::unique_ptr<Source> cifar100_source(const std::string& directory, bool train) {
  return cifar_source(directory, "cifar-100-binary", "fine_label_names.txt", 100, 2,
                      {train ? "train.bin" : "test.bin"}, train ? "cifar100/train" : "cifar100/test");
}

std::unique_ptr<Source> idx_source(const std::string& directory, bool train) {
  const std::string stem = train ? "train" : "t10k";
  const Idx images = read_idx(directory, stem + "-images", 3);
  const Idx labels = read_idx(directory, stem + "-labels", 1);
  if (images.extents[0] != labels.extents[0]) {
    throw Error(ExitCode::data, labels.path + ": " + std::to_string(labels.extents[0]) + " labels for " +
                                    std::to_string(images.extents[0]) + " pictures");
  }
  if (images.extents[1] > kMaxPixels / images.extents[2]) {
    throw Error(ExitCode::data, images.path + ": pictures over the limit of 64 million pixels");
  }
  PackedPictures pictures{images.extents[1], images.extents[2], 1, {}, {}, {}, "idx/" + stem};
  pictures.pixels.assign(images.bytes.begin() + images.data_at, images.bytes.end());
  pictures.labels.assign(labels.bytes.begin() + labels.data_at, labels.bytes.end());
  const int32_t highest = *std::max_element(pictures.labels.begin(), pictures.labels.end());
  for (int32_t i = 0; i <= std::max(highest, 9); ++i) pictures.classes.push_back(std::to_string(i));
  return packed_source(std::move(pictures));
}

}  // namespace lathe
