// Looks at every picture of a dataset; writes them out as PNG. See check.h.
#include "datasets/check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "datasets/parallel.h"
#include "datasets/png.h"
#include "datasets/random.h"
#include "engine/runtime/error.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

// 128 bits of a picture's size and pixels: two pictures with equal ones are the same.
using Fingerprint = std::pair<uint64_t, uint64_t>;
struct FingerprintHash {
  size_t operator()(const Fingerprint& f) const { return f.first; }
};

Fingerprint fingerprint(const Picture& picture) {
  uint64_t a = mix(static_cast<uint64_t>(picture.height) << 32 | static_cast<uint64_t>(picture.width)),
           b = ~a;
  for (size_t i = 0; i < picture.rgb.size(); i += 8) {
    uint64_t word = 0;
    std::copy_n(picture.rgb.data() + i, std::min<size_t>(8, picture.rgb.size() - i),
                reinterpret_cast<uint8_t*>(&word));
    a = mix(a ^ word);
    b = mix(b + word * 0x9e3779b97f4a7c15u);
  }
  return {a, b};
}

bool is_gray(const Picture& picture) {
  for (size_t i = 0; i < picture.rgb.size(); i += 3) {
    if (picture.rgb[i] != picture.rgb[i + 1] || picture.rgb[i] != picture.rgb[i + 2]) return false;
  }
  return true;
}

struct Look {
  std::string failure;
  Fingerprint fingerprint;
  int64_t height = 0, width = 0;
  bool gray = false;
};

std::vector<Look> look_at(const Source& source, int workers) {
  std::vector<Look> looks(source.size());
  parallel_for(source.size(), workers, [&](int64_t i) {
    try {
      const Picture picture = source.read(i);
      looks[i] = {"", fingerprint(picture), picture.height, picture.width, is_gray(picture)};
    } catch (const Error& error) {
      looks[i].failure = error.what();
    }
  });
  return looks;
}

SplitReport summarise(const Source& source, const std::vector<Look>& looks) {
  SplitReport report;
  report.per_class.resize(source.classes().size());
  for (int64_t i = 0; i < source.size(); ++i) {
    const Look& look = looks[i];
    if (!look.failure.empty()) {
      report.bad.push_back(look.failure);
      continue;
    }
    const auto [low, high] = std::minmax(look.height, look.width);
    report.smallest_side = report.pictures == 0 ? low : std::min(report.smallest_side, low);
    report.largest_side = std::max(report.largest_side, high);
    ++report.pictures;
    ++report.per_class[source.label(i)];
    ++report.sizes[{look.height, look.width}];
    if (look.gray) ++report.gray;
  }
  return report;
}

void find_duplicates(const Sources& sources, const std::vector<Look>& train,
                     const std::vector<Look>& validation, DataReport& report) {
  std::unordered_map<Fingerprint, int64_t, FingerprintHash> seen;  // -> index in the training set
  for (int64_t i = 0; i < static_cast<int64_t>(train.size()); ++i) {
    if (!train[i].failure.empty()) continue;
    const auto [first, is_new] = seen.emplace(train[i].fingerprint, i);
    if (is_new) continue;
    const bool agree = sources.train->label(i) == sources.train->label(first->second);
    (agree ? report.repeated : report.contradictory)
        .emplace_back(sources.train->name(first->second), sources.train->name(i));
  }
  for (int64_t i = 0; i < static_cast<int64_t>(validation.size()); ++i) {
    const auto first = seen.find(validation[i].fingerprint);
    if (!validation[i].failure.empty() || first == seen.end()) continue;
    report.across_splits.emplace_back(sources.train->name(first->second), sources.validation->name(i));
  }
}

void describe(const std::string& split, const SplitReport& report, const std::vector<std::string>& classes,
              std::vector<std::string>& lines) {
  lines.push_back(fmt::format("{}: {} pictures, sides {} to {} pixels in {} sizes, {} gray", split,
                              report.pictures, report.smallest_side, report.largest_side, report.sizes.size(),
                              report.gray));
  for (size_t i = 0; i < classes.size(); ++i) {
    lines.push_back(fmt::format("{}: class {} '{}': {} pictures", split, i, classes[i], report.per_class[i]));
  }
  for (const std::string& bad : report.bad) lines.push_back(fmt::format("{}: bad: {}", split, bad));
}

void export_split(const Source& source, const fs::path& directory, int workers,
                  std::vector<std::string>& skipped) {
  for (const std::string& name : source.classes()) {
    if (name.empty() || name.starts_with('.') || name.find('/') != std::string::npos) {
      throw Error(ExitCode::failure, "class '" + name + "' cannot be the name of a folder");
    }
    fs::create_directories(directory / name);
  }
  std::vector<std::string> failures(source.size());
  parallel_for(source.size(), workers, [&](int64_t i) {
    Picture picture;
    try {
      picture = source.read(i);
    } catch (const Error& error) {
      failures[i] = error.what();
      return;
    }
    write_png(directory / source.classes()[source.label(i)] / fmt::format("{:06}.png", i), picture);
  });
  std::copy_if(failures.begin(), failures.end(), std::back_inserter(skipped),
               [](const std::string& failure) { return !failure.empty(); });
}

}  // namespace

bool DataReport::spoiled() const {
  const bool class_missing =
      std::find(train.per_class.begin(), train.per_class.end(), 0) != train.per_class.end();
  return class_missing || !train.bad.empty() || !validation.bad.empty() || !across_splits.empty() ||
         !contradictory.empty();
}

std::vector<std::string> DataReport::lines() const {
  std::vector<std::string> lines;
  describe("train", train, classes, lines);
  if (!validation.per_class.empty()) describe("val", validation, classes, lines);
  lines.push_back(fmt::format("imbalance: the largest class is {:.1f} times the smallest", imbalance));
  for (const auto& [a, b] : across_splits) lines.push_back("in both splits: " + a + " = " + b);
  for (const auto& [a, b] : contradictory) lines.push_back("under two labels: " + a + " = " + b);
  for (const auto& [a, b] : repeated) lines.push_back("twice: " + a + " = " + b);
  for (const std::string& warning : warnings) lines.push_back("warning: " + warning);
  return lines;
}

DataReport check_data(const Sources& sources, int workers) {
  DataReport report;
  report.classes = sources.train->classes();
  report.warnings = sources.warnings;
  const std::vector<Look> train = look_at(*sources.train, workers);
  std::vector<Look> validation;
  report.train = summarise(*sources.train, train);
  if (sources.validation) {
    validation = look_at(*sources.validation, workers);
    report.validation = summarise(*sources.validation, validation);
  }
  find_duplicates(sources, train, validation, report);
  int64_t smallest = 0, largest = 0;
  for (const int64_t count : report.train.per_class) {
    if (count > 0 && (smallest == 0 || count < smallest)) smallest = count;
    largest = std::max(largest, count);
  }
  if (smallest > 0) report.imbalance = static_cast<double>(largest) / static_cast<double>(smallest);
  return report;
}

std::vector<std::string> export_data(const Sources& sources, const std::string& directory, int workers) {
  fs::path target(directory);
  if (target.filename().empty()) target = target.parent_path();  // DIR/
  if (fs::exists(target)) {
    throw Error(ExitCode::usage, directory + ": exists; export writes a new folder, name another");
  }
  const fs::path temporary = target.native() + ".tmp" + std::to_string(getpid());
  std::vector<std::string> skipped;
  try {
    export_split(*sources.train, temporary / "train", workers, skipped);
    if (sources.validation) export_split(*sources.validation, temporary / "val", workers, skipped);
    fs::rename(temporary, target);
  } catch (const std::exception& error) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw Error(ExitCode::failure, directory + ": cannot be written: " + error.what());
  }
  return skipped;
}

}  // namespace lathe
