// From a SPEC to sources and staged sets; see open.h.
#include "datasets/open.h"

#include <fmt/format.h>

#include "datasets/binaries.h"
#include "datasets/folder.h"
#include "datasets/fruit.h"
#include "datasets/spec.h"
#include "datasets/views.h"
#include "engine/runtime/error.h"

namespace lathe {
namespace {

const std::vector<std::string> kValidationNames = {"val", "valid", "validation"};

std::unique_ptr<Source> open_fruit(const Spec& spec, bool validation, const OpenOptions& options) {
  const int64_t side = options.stage.stage_size > 0 ? options.stage.stage_size : options.stage.image_size;
  return make_fruit({.validation = validation,
                     .count = validation ? spec.fruit.val.value_or(kFruitValidation)
                                         : spec.fruit.train.value_or(kFruitTrain),
                     .size = spec.fruit.size.value_or(side),
                     .seed = spec.fruit.seed.value_or(1)});
}

std::unique_ptr<Source> open_training(const Spec& spec, const OpenOptions& options,
                                      std::vector<std::string>& warnings) {
  switch (spec.kind) {
    case Spec::Kind::fruit:
      return open_fruit(spec, false, options);
    case Spec::Kind::cifar10:
      return cifar10_source(spec.directory, true);
    case Spec::Kind::cifar100:
      return cifar100_source(spec.directory, true);
    case Spec::Kind::idx:
      return idx_source(spec.directory, true);
    case Spec::Kind::folder:
      break;
  }
  const std::string directory = find_split(spec.directory, {"train"}).value_or(spec.directory);
  return folder_source(directory, options.decoder, warnings);
}

// What a spec holds for looking at a model from outside: its split of one of these names, or all of a folder.
std::unique_ptr<Source> open_held_out(const Spec& spec, const std::vector<std::string>& names,
                                      const OpenOptions& options, std::vector<std::string>& warnings) {
  switch (spec.kind) {
    case Spec::Kind::fruit:
      return open_fruit(spec, true, options);
    case Spec::Kind::cifar10:
      return cifar10_source(spec.directory, false);
    case Spec::Kind::cifar100:
      return cifar100_source(spec.directory, false);
    case Spec::Kind::idx:
      return idx_source(spec.directory, false);
    case Spec::Kind::folder:
      break;
  }
  const std::optional<std::string> split = find_split(spec.directory, names);
  if (!split && find_split(spec.directory, {"train"})) {
    throw Error(ExitCode::data, spec.directory + ": has train but none of " +
                                    fmt::format("{}", fmt::join(names, ", ")) +
                                    "; to use the training pictures say folder:" + spec.directory + "/train");
  }
  return folder_source(split.value_or(spec.directory), options.decoder, warnings);
}

std::string describe(const std::string& text, const Spec& spec) {
  return spec.kind == Spec::Kind::fruit ? text + " (synthetic pictures)" : text;
}

std::unique_ptr<StagedSet> stage(std::unique_ptr<Source> source, const std::string& what,
                                 const StageOptions& options, std::vector<std::string>& warnings) {
  try {
    auto set = std::make_unique<StagedSet>(std::move(source), options);
    for (const std::string& bad : set->bad()) warnings.push_back("left out: " + bad);
    return set;
  } catch (const Error& error) {
    throw Error(error.code(), what + ": " + error.what());
  }
}

}  // namespace

Sources open_sources(const std::string& data_spec, const std::string& val_spec, const OpenOptions& options) {
  const Spec spec = parse_spec(data_spec);
  if (!(options.val_split >= 0 && options.val_split < 1)) {
    throw Error(ExitCode::usage, "the validation split must be at least 0 and less than 1");
  }
  Sources sources;
  sources.train = open_training(spec, options, sources.warnings);
  sources.description = describe(data_spec, spec);

  std::string what = val_spec;
  if (!val_spec.empty()) {
    std::vector<std::string> names = kValidationNames;
    names.emplace_back("test");
    sources.validation = open_held_out(parse_spec(val_spec), names, options, sources.warnings);
    sources.description += ", validation " + describe(val_spec, parse_spec(val_spec));
  } else if (spec.kind != Spec::Kind::folder ||
             (find_split(spec.directory, {"train"}) && find_split(spec.directory, kValidationNames))) {
    what = "the validation set of " + data_spec;
    sources.validation = open_held_out(spec, kValidationNames, options, sources.warnings);
  } else if (options.val_split > 0) {
    std::tie(sources.train, sources.validation) =
        stratified_split(std::move(sources.train), options.val_split, options.seed, sources.warnings);
    sources.description += fmt::format(", {:g} % of each class held out", 100 * options.val_split);
    return sources;
  }
  if (sources.validation) {
    sources.validation =
        relabelled(std::move(sources.validation), sources.train->classes(), what, sources.warnings);
  }
  return sources;
}

Datasets open_datasets(const std::string& data_spec, const std::string& val_spec,
                       const OpenOptions& options) {
  Sources sources = open_sources(data_spec, val_spec, options);
  Datasets datasets{nullptr, nullptr, std::move(sources.description), std::move(sources.warnings)};
  datasets.train = stage(std::move(sources.train), "the training set", options.stage, datasets.warnings);
  if (sources.validation && sources.validation->size() > 0) {
    StageOptions same = options.stage;  // both sets enter the same network
    if (datasets.train->height() == datasets.train->width()) same.stage_size = datasets.train->height();
    datasets.validation = stage(std::move(sources.validation), "the validation set", same, datasets.warnings);
    if (datasets.validation->sample_bytes() != datasets.train->sample_bytes()) {
      throw Error(ExitCode::data, "the validation pictures have another size than the training pictures");
    }
  }
  return datasets;
}

Evaluation open_evaluation(const std::string& text, const std::vector<std::string>& classes,
                           const OpenOptions& options, EvaluationSplit split) {
  const Spec spec = parse_spec(text);
  Evaluation evaluation;
  std::unique_ptr<Source> source;
  evaluation.description = describe(text, spec);
  if (split == EvaluationSplit::automatic) {
    std::vector<std::string> names = {"test"};
    names.insert(names.end(), kValidationNames.begin(), kValidationNames.end());
    source = open_held_out(spec, names, options, evaluation.warnings);
    if (spec.kind == Spec::Kind::folder && !find_split(spec.directory, names))
      evaluation.warnings.push_back(
          text +
          ": all its pictures are looked at; if it was trained on, --split val with the run's --seed and "
          "--val-split takes those that were held out");
  } else {
    Sources sources = open_sources(text, "", options);
    evaluation.warnings = std::move(sources.warnings);
    source = std::move(split == EvaluationSplit::train ? sources.train : sources.validation);
    if (!source) throw Error(ExitCode::data, text + ": nothing of it is held out for validation");
    evaluation.description +=
        split == EvaluationSplit::train ? ", training pictures" : ", validation pictures";
  }
  source = relabelled(std::move(source), classes, text, evaluation.warnings);
  evaluation.set = stage(std::move(source), text, options.stage, evaluation.warnings);
  return evaluation;
}

}  // namespace lathe
