#include "apps/training/gather_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "apps/training/augmented.h"

namespace lathe {
namespace {

constexpr int64_t kAugmentedShown = 24, kMistakesShown = 24;

std::vector<CaptionedPicture> augmented_inputs(const TrainConfig& config, const Trainer& trainer) {
  const StagedSet& set = *trainer.datasets().train;
  std::vector<AugmentedSample> samples;
  int64_t count = std::min(kAugmentedShown, set.size());
  for (int64_t i = 0; i < count; ++i) samples.push_back({i * set.size() / count, 0});
  int64_t size = config.data.image_size;
  std::vector<Picture> pictures = augmented_pictures(set, samples, parse_augment(config.data.augment, size),
                                                     parse_normalize(config.data.normalize), size,
                                                     config.run.seed, effective_options(config.switches));
  std::vector<CaptionedPicture> captioned;
  for (size_t i = 0; i < pictures.size(); ++i) {
    captioned.push_back({pictures[i], set.classes()[static_cast<size_t>(set.label(samples[i].sample))]});
  }
  return captioned;
}

Picture staged_picture(const StagedSet& set, int64_t sample) {
  Picture picture(set.height(), set.width());
  set.load(sample, picture.rgb.data());
  return picture;
}

// The pictures that the model is most wrong about: largest loss first.
std::vector<Mistake> worst_mistakes(const StagedSet& set, const EvaluationResult& result) {
  std::vector<int64_t> wrong;
  for (int64_t i = 0; i < result.samples(); ++i) {
    if (result.predicted(i) != result.labels[static_cast<size_t>(i)]) wrong.push_back(i);
  }
  std::stable_sort(wrong.begin(), wrong.end(), [&](int64_t a, int64_t b) {
    return result.losses[static_cast<size_t>(a)] > result.losses[static_cast<size_t>(b)];
  });
  if (static_cast<int64_t>(wrong.size()) > kMistakesShown) wrong.resize(kMistakesShown);
  std::vector<Mistake> mistakes;
  for (int64_t i : wrong) {
    auto predicted = static_cast<size_t>(result.predicted(i));
    mistakes.push_back({staged_picture(set, i), set.name(i),
                        set.classes()[static_cast<size_t>(result.labels[static_cast<size_t>(i)])],
                        set.classes()[predicted],
                        result.probabilities[static_cast<size_t>(i * result.classes) + predicted]});
  }
  return mistakes;
}

std::string counts_text(const StagedSet& set) {
  std::vector<int64_t> counts = set.class_counts();
  std::string text;
  for (size_t c = 0; c < counts.size() && c < 20; ++c)
    text += fmt::format("{}{} {}", c == 0 ? "" : ", ", set.classes()[c], counts[c]);
  return counts.size() > 20 ? text + ", …" : text;
}

}  // namespace

TrainReport gather_report(const TrainConfig& config, Trainer& trainer, const RunFolder& folder,
                          const TrainOutcome& outcome) {
  TrainReport report;
  const Datasets& data = trainer.datasets();
  report.title = fmt::format("{} on {}", config.model.model == "vgg16_bn" ? "VGG16 with batch norm" : "VGG16",
                             data.description);
  report.folder = folder.path.string();
  report.started = outcome.started;
  report.status = outcome.end == Trainer::End::patience ? "stopped early: no better evaluation" : "done";
  report.arguments = outcome.arguments;
  report.seed = config.run.seed;
  for (const Switch& s : outcome.switches)
    report.switches.push_back({s.name, s.requested, s.effective, s.reason});
  report.epochs = read_results_csv(folder.results());
  report.best_epoch = trainer.position().best_epoch;
  report.target_top1 = config.target;
  report.classes = trainer.spec().model.classes;
  if (outcome.evaluation) {
    Assessment assessment = assess(*outcome.evaluation);
    report.confusion = std::move(assessment.confusion);
    report.calibration = std::move(assessment.calibration);
    report.mistakes = worst_mistakes(*data.validation, *outcome.evaluation);
  }
  report.time = trainer.time_split();
  const MemoryForecast& memory = trainer.forecast();
  report.memory = {memory.total(), memory.total() - memory.arena + memory.arena_bound, outcome.peak_bytes};
  report.augmented = augmented_inputs(config, trainer);
  report.data = {{"data", data.description},
                 {"training pictures", fmt::format("{} ({})", data.train->size(), counts_text(*data.train))}};
  if (data.validation) {
    report.data.emplace_back("validation pictures",
                             fmt::format("{} ({})", data.validation->size(), counts_text(*data.validation)));
  }
  report.data.emplace_back("picture size", fmt::format("{}×{}", data.train->height(), data.train->width()));
  report.data.emplace_back("augmentation",
                           to_string(parse_augment(config.data.augment, config.data.image_size)));
  report.data.emplace_back("normalisation", config.data.normalize);
  report.data_warnings = data.warnings;
  return report;
}

}  // namespace lathe
