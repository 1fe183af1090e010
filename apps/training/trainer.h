// A training run from its first to its last update: the loop, evaluation, saving, stopping, resuming.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/command_line/config.h"
#include "apps/report/train_report.h"
#include "apps/run/console.h"
#include "apps/run/event_log.h"
#include "apps/run/progress.h"
#include "apps/run/results_csv.h"
#include "apps/run/run_folder.h"
#include "apps/training/checkpoint.h"
#include "apps/training/evaluator.h"
#include "apps/training/schedule.h"
#include "apps/training/session.h"
#include "apps/training/timetable.h"
#include "datasets/open.h"

namespace lathe {

// Bytes that a run will take, before it takes them.
struct MemoryForecast {
  int64_t already = 0;  // resident in this process when the forecast was made: program, libraries, pictures
  int64_t arena = 0, arena_bound = 0;  // planned; and the lower bound of the same plan
  int64_t state = 0;                   // parameters, optimiser state, running statistics
  int64_t buffers = 0;                 // input slots, staging
  int64_t total() const { return already + arena + state + buffers; }
};

class Trainer {
 public:
  // Opens nothing on disk: opens data in memory, compiles every kind of step, plans. Throws Error for
  // whatever would stop the run later.
  Trainer(const TrainConfig& config, const Options& effective, Datasets datasets);

  // Takes memory and starting values, fresh or from --init; writes nothing.
  void prepare();
  // Then, to go on with a run: the state that is saved in `folder`. Throws Error(data) or Error(usage) where
  // it was of other pictures, another model, or is past the end that is asked for now.
  void resume(const RunFolder& folder);

  // Trains to the end, to a signal, or until patience runs out. Throws Error(not_finite) where the loss is
  // not.
  enum class End { done, stopped, patience };
  End run(const RunFolder& folder, Console& console, EventLog& events, ResultsCsv& results);

  // The validation pictures through the best weights of the run, which replace the present ones.
  EvaluationResult evaluate_best(const RunFolder& folder);

  const StepSpec& spec() const { return spec_; }
  const Program& program() {
    return session_.prepare(timetable_.slot(0).batch_size, timetable_.slot(0).role);
  }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const RunPosition& position() const { return position_; }
  const Datasets& datasets() const { return datasets_; }
  const std::vector<std::string>& notes() const { return session_.notes(); }
  const MemoryForecast& forecast() const { return forecast_; }
  const TimeSplit& time_split() const { return time_; }
  // The epochs of this session.
  const std::vector<EpochResult>& history() const { return history_; }
  int64_t total_updates() const { return total_updates_; }
  int64_t epochs() const;
  int64_t trainable() const;  // elements of trained parameters

 private:
  struct Pending {  // a step under way
    int64_t epoch, batch, update;
    double lr, wait_ms;
    bool ends_update;
  };

  void collect(EventLog& events, Progress& progress);
  void end_of_epoch(const RunFolder& folder, Console& console, EventLog& events, ResultsCsv& results);
  void save(const RunFolder& folder, EventLog& events);
  double learning_rate_now() const;
  std::string samples() const;
  std::string epoch_line(const EpochResult& row, bool better) const;
  ProgressState progress_at(const Pending& done, double loss) const;

  TrainConfig config_;
  Options options_;
  Datasets datasets_;
  StepSpec spec_, evaluation_spec_;
  std::vector<Parameter> parameters_;
  Pipeline pipeline_;
  Timetable timetable_;
  Schedule schedule_;
  int64_t total_updates_ = 0;
  State state_;
  std::shared_ptr<Arena> arena_ = std::make_shared<Arena>();
  TrainingSession session_;
  Evaluator evaluator_;
  MemoryForecast forecast_;
  RunPosition position_;
  TimeSplit time_;
  std::deque<Pending> pending_;
  double update_loss_ = 0, update_wait_ms_ = 0, update_seconds_ = 0;
  int64_t updates_done_ = 0;  // by this process
  int64_t update_samples_ = 0;
  std::chrono::steady_clock::time_point last_done_{};
  int64_t saved_updates_ = -1;
  std::vector<EpochResult> history_;
};

}  // namespace lathe
