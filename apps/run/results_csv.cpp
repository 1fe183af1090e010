// The header stands once, whatever the number of resumes.
#include "apps/run/results_csv.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <string>

#include "engine/runtime/atomic_file.h"
#include "engine/runtime/error.h"
#include "engine/runtime/printable.h"

namespace lathe {

namespace {

constexpr std::string_view kHeader =
    "epoch,time_s,train/loss,train/top1,val/loss,val/top1,lr,perf/img_s,perf/data_wait_ms";

// Drops the rows of epochs from `first_epoch` on; a missing or empty file stays as it is.
void drop_rows_from(const std::filesystem::path& path, int64_t first_epoch) {
  std::ifstream file(path);
  std::string kept, line;
  if (!std::getline(file, line) || file.eof()) return;  // a crash's half header goes with LineFile
  if (line != kHeader) {
    throw Error(ExitCode::failure,
                fmt::format("{}: its columns are not those of this version; use a new --out",
                            printable(path.string())));
  }
  kept = line + "\n";
  bool dropped = false;
  while (std::getline(file, line)) {
    int64_t epoch = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), epoch);
    const bool keep = error == std::errc() && *end == ',' && epoch < first_epoch && !file.eof();
    dropped |= !keep;
    if (keep) kept += line + "\n";
  }
  file.close();
  if (dropped) write_file_atomically(path, kept);
}

}  // namespace

ResultsCsv::ResultsCsv(const std::filesystem::path& path, int64_t first_epoch) {
  drop_rows_from(path, first_epoch);
  file_ = std::make_unique<LineFile>(path);
  if (file_->empty()) file_->write_line(kHeader);
}

void ResultsCsv::write(const EpochResult& row) {
  file_->write_line(fmt::format("{},{},{},{},{},{},{},{},{}", row.epoch, row.time_s, row.train_loss,
                                row.train_top1, row.val_loss, row.val_top1, row.lr, row.img_s,
                                row.data_wait_ms));
}

std::vector<EpochResult> read_results_csv(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line))
    throw Error(ExitCode::failure, printable(path.string()) + ": cannot be read");
  std::vector<EpochResult> rows;
  while (std::getline(file, line)) {
    EpochResult row;
    double epoch = 0;
    double* fields[] = {&epoch,        &row.time_s, &row.train_loss, &row.train_top1,  &row.val_loss,
                        &row.val_top1, &row.lr,     &row.img_s,      &row.data_wait_ms};
    const char *at = line.data(), *end = line.data() + line.size();
    for (double* field : fields) {
      const auto [stop, error] = std::from_chars(at, end, *field);
      if (error != std::errc())
        throw Error(ExitCode::failure, printable(path.string()) + ": not a row: " + line);
      at = stop < end ? stop + 1 : stop;
    }
    row.epoch = static_cast<int64_t>(epoch);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace lathe
