// From a finished run to what its report shows (apps/report/train_report.h).
#pragma once

#include <optional>
#include <vector>

#include "apps/run/arguments.h"
#include "apps/training/trainer.h"

namespace lathe {

struct TrainOutcome {
  Trainer::End end = Trainer::End::done;
  std::string started;  // utc_time()
  std::vector<Switch> switches;
  RunArguments arguments;
  int64_t peak_bytes = 0;                      // resident set of the process at its largest
  std::optional<EvaluationResult> evaluation;  // of the best weights
};

TrainReport gather_report(const TrainConfig& config, Trainer& trainer, const RunFolder& folder,
                          const TrainOutcome& outcome);

}  // namespace lathe
