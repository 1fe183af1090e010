// report.html of a training run: one page that says how good the model is, what really ran, and how to repeat
// it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "apps/run/arguments.h"
#include "apps/run/event_log.h"
#include "apps/run/metrics.h"
#include "apps/run/results_csv.h"
#include "datasets/picture.h"

namespace lathe {

struct TimeSplit {
  double compute_s = 0, data_wait_s = 0, evaluation_s = 0, saving_s = 0, other_s = 0;
  double total() const { return compute_s + data_wait_s + evaluation_s + saving_s + other_s; }
};

struct MemoryUse {  // bytes; 0 where not known
  int64_t planned = 0, lower_bound = 0, measured = 0;
};

struct CaptionedPicture {
  Picture picture;
  std::string caption;
};

struct Mistake {
  Picture picture;
  std::string file, truth, predicted;
  double probability = 0;  // of the prediction
};

struct TrainReport {
  std::string title;            // "VGG16 on fruit (synthetic)"
  std::string folder;           // of the run
  std::string started;          // utc_time()
  std::string status = "done";  // else what ended the run, as in run_end
  RunArguments arguments;
  uint64_t seed = 0;
  std::vector<SwitchEvent> switches;

  std::vector<EpochResult> epochs;
  int64_t best_epoch = 0;             // 0: there is none
  std::optional<double> target_top1;  // 0 … 1

  std::vector<std::string> classes;
  std::optional<ConfusionMatrix> confusion;  // of the best weights on the validation pictures
  std::optional<Calibration> calibration;

  TimeSplit time;
  MemoryUse memory;

  std::vector<CaptionedPicture> augmented;  // inputs as the network saw them
  std::vector<Mistake> mistakes;            // worst first

  Facts data;  // description, counts, audit
  std::vector<std::string> data_warnings;
  Facts hashes;  // of the data and the weights
};

// The page: self-contained and under 5 MB; pictures and rows beyond that are counted, not shown.
std::string train_report_html(const TrainReport& report);

// Atomic. Error(failure) where it cannot be written.
void write_train_report(const std::filesystem::path& path, const TrainReport& report);

}  // namespace lathe
