// Opens datasets by their SPEC (spec.h): what `lathe train`, `evaluate` and `data` call.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "datasets/decode.h"
#include "datasets/staged.h"

namespace lathe {

struct OpenOptions {
  StageOptions stage = {};
  Decoder decoder = Decoder::automatic;
  double val_split = 0.1;  // share of each class that is held out where the data has no validation split
  uint64_t seed = 1;       // of that choice; the fruit pictures have a seed of their own in the SPEC
};

// Raw sources, for looking at data. validation is null with val_split 0 and no split of its own.
struct Sources {
  std::unique_ptr<Source> train, validation;
  std::string description;            // one line for the start of a run
  std::vector<std::string> warnings;  // one line each
};

// Without val_spec the validation set is the data's own (fruit, CIFAR and IDX have one; folder: DIR/val,
// DIR/valid or DIR/validation beside DIR/train), otherwise a stratified part of the training set. With
// val_spec it is that spec's validation or test set, or for a plain folder all of it. Labels of both sets are
// indices into the training set's classes; see relabelled(). Throws Error(data) or Error(usage).
Sources open_sources(const std::string& data_spec, const std::string& val_spec, const OpenOptions& options);

// The same, staged. Every picture that cannot be used is one warning; with strict they are an Error(data).
struct Datasets {
  std::unique_ptr<StagedSet> train, validation;
  std::string description;
  std::vector<std::string> warnings;
};
Datasets open_datasets(const std::string& data_spec, const std::string& val_spec, const OpenOptions& options);

// Which pictures `lathe evaluate` looks at: automatic is the test set (folder: DIR/test, else a validation
// split, else all of DIR; the others: their test or validation pictures), train and validation are what
// training on the same spec with the same val_split and seed uses.
enum class EvaluationSplit { automatic, train, validation };

// The pictures, their labels indices into the model's classes.
struct Evaluation {
  std::unique_ptr<StagedSet> set;
  std::string description;
  std::vector<std::string> warnings;
};
Evaluation open_evaluation(const std::string& spec, const std::vector<std::string>& classes,
                           const OpenOptions& options, EvaluationSplit split = EvaluationSplit::automatic);

}  // namespace lathe
