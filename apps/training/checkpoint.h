// Saving and restoring a run. Every file is written atomically, and never with parameters that are not
// finite.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/training/model.h"

namespace lathe {

// Where a run stands between two updates, and what it has seen.
struct RunPosition {
  int64_t epoch = 0;    // counted from 0; the one that `batch` belongs to
  int64_t batch = 0;    // batches of this epoch that are done
  int64_t updates = 0;  // of the parameters, in the whole run
  int64_t batches = 0;  // in the whole run
  double seconds = 0;   // of the whole run, earlier sessions counted in

  // The running epoch's sums.
  double loss_sum = 0, wait_ms = 0, epoch_seconds = 0;
  int64_t correct = 0, seen = 0;

  // The best evaluation so far: highest top-1, among equals the lowest loss.
  int64_t best_epoch = 0;  // counted from 1; 0: none yet
  double best_top1 = -1, best_loss = 0;
  int64_t evaluations_since_best = 0;
};

// Weights alone, with what prediction needs.
void save_weights(const std::filesystem::path& path, const State& state,
                  const std::vector<Parameter>& parameters, const ModelSpec& spec, int64_t batches);

// Everything that the run needs to go on: all of the state, the position, the settings.
void save_state(const std::filesystem::path& path, const State& state, const ModelSpec& spec,
                const RunPosition& position, const std::string& settings, const std::string& samples);

// Restores what save_state wrote into a state that holds the same tensors. `samples` is a text that tells the
// training pictures and their order from others. Throws Error(data) naming the file where a tensor is missing
// or of another shape, the position cannot be read, or the model, its classes or the samples were others.
RunPosition load_state(const std::filesystem::path& path, State& state, const ModelSpec& spec,
                       const std::string& samples);

}  // namespace lathe
