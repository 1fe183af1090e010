// lathe evaluate: how good saved weights are on labelled pictures.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/commands.h"
#include "apps/run/console.h"
#include "apps/run/metrics.h"
#include "apps/run/run_folder.h"
#include "apps/training/evaluator.h"
#include "apps/training/inference_model.h"
#include "datasets/open.h"
#include "engine/runtime/atomic_file.h"
#include "engine/runtime/error.h"
#include "engine/runtime/threads.h"

namespace lathe {
namespace {

struct Summary {
  EvaluationResult result;
  ConfusionMatrix confusion;
  Calibration calibration;
  int64_t top5 = 0;
};

Summary summarise(EvaluationResult result) {
  Summary summary{std::move(result), ConfusionMatrix(result.classes), {}};
  const EvaluationResult& r = summary.result;
  std::vector<float> confidence;
  std::vector<uint8_t> right;
  for (int64_t i = 0; i < r.samples(); ++i) {
    int32_t predicted = r.predicted(i), truth = r.labels[static_cast<size_t>(i)];
    std::span<const float> row(r.probabilities.data() + i * r.classes, static_cast<size_t>(r.classes));
    summary.confusion.add(truth, predicted);
    confidence.push_back(row[static_cast<size_t>(predicted)]);
    right.push_back(predicted == truth ? 1 : 0);
    summary.top5 += in_top_k(row, truth, 5) ? 1 : 0;
  }
  summary.calibration = calibrate(confidence, right);
  return summary;
}

EvaluationSplit split_of(const std::string& name) {
  if (name == "train") return EvaluationSplit::train;
  return name == "val" ? EvaluationSplit::validation : EvaluationSplit::automatic;
}

nlohmann::ordered_json to_json(const Summary& s, const std::vector<std::string>& classes) {
  auto samples = static_cast<double>(s.result.samples());
  auto correct = s.result.correct();
  Interval interval = wilson_interval(correct, s.result.samples());
  nlohmann::ordered_json json{{"samples", s.result.samples()},
                              {"correct", correct},
                              {"loss", s.result.loss()},
                              {"top1", static_cast<double>(correct) / samples},
                              {"top1_low", interval.low},
                              {"top1_high", interval.high},
                              {"top5", static_cast<double>(s.top5) / samples},
                              {"calibration_error", s.calibration.expected_error}};
  std::vector<ClassMetrics> metrics = s.confusion.per_class();
  for (size_t c = 0; c < classes.size(); ++c) {
    json["classes"].push_back({{"name", classes[c]},
                               {"support", metrics[c].support},
                               {"precision", metrics[c].precision},
                               {"recall", metrics[c].recall},
                               {"f1", metrics[c].f1}});
    std::vector<int64_t> row;
    for (size_t p = 0; p < classes.size(); ++p)
      row.push_back(s.confusion.count(static_cast<int64_t>(c), static_cast<int64_t>(p)));
    json["confusion"].push_back(row);
  }
  return json;
}

void print_summary(const Summary& s, const std::vector<std::string>& classes, Console& console) {
  auto samples = static_cast<double>(s.result.samples());
  int64_t correct = s.result.correct();
  Interval interval = wilson_interval(correct, s.result.samples());
  console.result(fmt::format(
      "top1 {:.2f}% ({}/{}, 95% {:.1f}-{:.1f})  top5 {:.2f}%  loss {:.6f}  calibration error {:.4f}",
      100 * static_cast<double>(correct) / samples, correct, s.result.samples(), 100 * interval.low,
      100 * interval.high, 100 * static_cast<double>(s.top5) / samples, s.result.loss(),
      s.calibration.expected_error));
  std::vector<std::vector<std::string>> rows{{"class", "pictures", "precision", "recall", "F1"}};
  std::vector<ClassMetrics> metrics = s.confusion.per_class();
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

  OpenOptions open;
  open.stage.image_size = model.image_size;
  open.stage.strict = config.data.strict_data;
  open.decoder = parse_decoder(config.data.decoder);
  open.val_split = config.data.val_split;
  open.seed = config.run.seed;
  Evaluation data = open_evaluation(config.data.spec, model.classes, open, split_of(config.split));
  for (const std::string& warning : data.warnings) console.warning(warning);

  InferenceModel inference(model, config.weights, options, data.set->height(), data.set->width(),
                           config.batch_size);
  Summary summary = summarise(inference.run(*data.set, options.workers));
  if (!std::isfinite(summary.result.loss())) {
    throw Error(ExitCode::not_finite, config.weights + ": its loss on these pictures is not finite");
  }
  std::string json = to_json(summary, model.classes).dump(2) + "\n";
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
    print_summary(summary, model.classes, console);
  }
  console.finish();
  double top1 = static_cast<double>(summary.result.correct()) / static_cast<double>(summary.result.samples());
  return static_cast<int>(config.target && top1 < *config.target ? ExitCode::missed : ExitCode::done);
}

}  // namespace lathe
