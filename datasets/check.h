// `lathe data check` and `lathe data export`: what is in a dataset, and what is wrong with it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "datasets/open.h"

namespace lathe {

struct SplitReport {
  int64_t pictures = 0;            // good ones
  std::vector<int64_t> per_class;  // good ones, by class
  std::vector<std::string> bad;    // "NAME: reason", in the source's order
  int64_t smallest_side = 0, largest_side = 0;
  std::map<std::pair<int64_t, int64_t>, int64_t> sizes;  // {height, width} -> how many
  int64_t gray = 0;                                      // pictures with R = G = B everywhere
};

struct DataReport {
  std::vector<std::string> classes;
  SplitReport train, validation;
  std::vector<std::string> warnings;  // from opening
  // Pictures with the same pixels, by name: in both splits (the validation result is then too good), within
  // the training set under one label, and under different labels (one of them is wrong).
  std::vector<std::pair<std::string, std::string>> across_splits, repeated, contradictory;
  double imbalance = 1;  // largest by smallest class of the training set, empty classes left out

  // What spoils a run: bad pictures, a class without training pictures, pictures in both splits, or the same
  // picture under two labels.
  bool spoiled() const;
  // The findings, one line each.
  std::vector<std::string> lines() const;
};

// Decodes every picture, `workers` at a time (0: all cores).
DataReport check_data(const Sources& sources, int workers);

// Writes every picture as DIR/SPLIT/CLASS/000017.png, the number being its index in the source; pictures that
// cannot be read are skipped and returned as lines. All or nothing: written to a folder beside it, then
// renamed. Throws Error(usage) if the directory exists, Error(failure) if it cannot be written.
std::vector<std::string> export_data(const Sources& sources, const std::string& directory, int workers);

}  // namespace lathe
