// lathe evaluate: how good saved weights are on labelled pictures.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/commands.h"
#include "apps/open_options.h"
#include "apps/run/console.h"
#include "apps/run/run_folder.h"
#include "apps/training/evaluator.h"
#include "apps/training/inference_model.h"
#include "engine/runtime/atomic_file.h"
#include "engine/runtime/error.h"
#include "engine/runtime/threads.h"

namespace lathe {
namespace {

EvaluationSplit split_of(const std::string& name) {
  if (name == "train") return EvaluationSplit::train;
  return name == "val" ? EvaluationSplit::validation : EvaluationSplit::automatic;
}

nlohmann::ordered_json to_json(const EvaluationResult& result, const Assessment& assessment,
                               const std::vector<std::string>& classes) {
  auto samples = static_cast<double>(result.samples());
  auto correct = result.correct();
  Interval interval = wilson_interval(correct, result.samples());
  nlohmann::ordered_json json{{"samples", result.samples()},
                              {"correct", correct},
                              {"loss", result.loss()},
                              {"top1", static_cast<double>(correct) / samples},
                              {"top1_low", interval.low},
                              {"top1_high", interval.high},
                              {"top5", static_cast<double>(assessment.top5) / samples},
                              {"calibration_error", assessment.calibration.expected_error}};
  std::vector<ClassMetrics> metrics = assessment.confusion.per_class();
  for (size_t c = 0; c < classes.size(); ++c) {
    json["classes"].push_back({{"name", classes[c]},
                               {"support", metrics[c].support},
                               {"precision", metrics[c].precision},
                               {"recall", metrics[c].recall},
                               {"f1", metrics[c].f1}});
    std::vector<int64_t> row;
    for (size_t p = 0; p < classes.size(); ++p)
      row.push_back(assessment.confusion.count(static_cast<int64_t>(c), static_cast<int64_t>(p)));
    json["confusion"].push_back(row);
  }
  return json;
}

void print_summary(const EvaluationResult& result, const Assessment& assessment,
                   const std::vector<std::string>& classes, Console& console) {
  auto samples = static_cast<double>(result.samples());
  int64_t correct = result.correct();
  Interval interval = wilson_interval(correct, result.samples());
  console.result(fmt::format(
      "top1 {:.2f}% ({}/{}, 95% {:.1f}-{:.1f})  top5 {:.2f}%  loss {:.6f}  calibration error {:.4f}",
      100 * static_cast<double>(correct) / samples, correct, result.samples(), 100 * interval.low,
      100 * interval.high, 100 * static_cast<double>(assessment.top5) / samples, result.loss(),
      assessment.calibration.expected_error));
  std::vector<std::vector<std::string>> rows{{"class", "pictures", "precision", "recall", "F1"}};
  std::vector<ClassMetrics> metrics = assessment.confusion.per_class();
  for (size_t c = 0; c < classes.size(); ++c) {
    rows.push_back({classes[c], std::to_string(metrics[c].support),
                    fmt::format("{:.4f}", metrics[c].precision), fmt::format("{:.4f}", metrics[c].recall),
                    fmt::format("{:.4f}", metrics[c].f1)});
  }
  console.result(format_table(rows));
}

}  // namespace

int evaluate(const EvaluateConfig& config) {
  set_threads(config.run.threads);
  Options options = effective_options(config.switches);
  Console console;
  ModelSpec model = read_model_spec(config.weights);

  OpenOptions open = open_options(config.data, config.run.seed);
  open.stage.image_size = model.image_size;
  Evaluation data = open_evaluation(config.data.spec, model.classes, open, split_of(config.split));
  for (const std::string& warning : data.warnings) console.warning(warning);

  InferenceModel inference(model, config.weights, options, data.set->height(), data.set->width(),
                           config.batch_size);
  EvaluationResult result = inference.run(*data.set, options.workers);
  if (!std::isfinite(result.loss())) {
    throw Error(ExitCode::not_finite, config.weights + ": its loss on these pictures is not finite");
  }
  Assessment assessment = assess(result);
  std::string json = to_json(result, assessment, model.classes).dump(2) + "\n";
  if (!config.run.out.empty() || !config.run.name.empty()) {
    RunFolder folder = config.run.out.empty() ? RunFolder::create("evaluate", config.run.name)
                                              : RunFolder::create_at(config.run.out);
    write_file_atomically(folder.path / "evaluation.json", json);
    console.note("wrote " + (folder.path / "evaluation.json").string());
  }
  if (config.run.json) {
    console.result(json);
  } else {
    console.note(fmt::format("data  {}, {} pictures", data.description, data.set->size()));
    print_summary(result, assessment, model.classes, console);
  }
  console.finish();
  double top1 = static_cast<double>(result.correct()) / static_cast<double>(result.samples());
  return static_cast<int>(config.target && top1 < *config.target ? ExitCode::missed : ExitCode::done);
}

}  // namespace lathe
