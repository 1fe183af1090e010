// results.csv: one row an epoch, for spreadsheets and plots.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "apps/run/line_file.h"

namespace lathe {

struct EpochResult {
  int64_t epoch = 0;                      // counts from 1
  double time_s = 0;                      // since the start of the run
  double train_loss = 0, train_top1 = 0;  // accuracies in 0 … 1; NaN where there is no value
  double val_loss = 0, val_top1 = 0;
  double lr = 0, img_s = 0, data_wait_ms = 0;  // data_wait_ms: mean over the epoch's steps
};

// Columns: epoch,time_s,train/loss,train/top1,val/loss,val/top1,lr,perf/img_s,perf/data_wait_ms.
// Full precision in every locale; NaN and infinity are written nan and inf.
class ResultsCsv {
 public:
  // A resumed run gives the epoch that it starts with: rows from there on, of the run that was cut, go.
  explicit ResultsCsv(const std::filesystem::path& path, int64_t first_epoch = 1);
  void write(const EpochResult& row);

 private:
  std::unique_ptr<LineFile> file_;
};

// The rows of a file that ResultsCsv wrote. Error(failure) where it cannot be read.
std::vector<EpochResult> read_results_csv(const std::filesystem::path& path);

}  // namespace lathe
