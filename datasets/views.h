// Sources made from other sources, and a source that is already in memory.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "datasets/source.h"

namespace lathe {

// The pictures of source with these indices, in this order.
std::unique_ptr<Source> subset(std::shared_ptr<const Source> source, std::vector<int64_t> indices);

// The same pictures with their labels as indices into `classes`, matched by name: the training set's or the
// model's. A class of source that is not among them is Error(data), which names it and begins with `what`;
// one of `classes` that has no picture in source is a warning.
std::unique_ptr<Source> relabelled(std::unique_ptr<Source> source, const std::vector<std::string>& classes,
                                   const std::string& what, std::vector<std::string>& warnings);

// Takes round(count * fraction) pictures of each class, by lot from the seed, at least one and at most all
// but one; a class with one picture keeps it for training, with a warning. Returns training and validation,
// each in the source's order.
std::pair<std::unique_ptr<Source>, std::unique_ptr<Source>> stratified_split(
    std::unique_ptr<Source> source, double fraction, uint64_t seed, std::vector<std::string>& warnings);

// Pictures of one size in memory, as the binary formats store them.
struct PackedPictures {
  int64_t height, width;
  int64_t planes;               // 3: R, G and B; 1: gray
  std::vector<uint8_t> pixels;  // [count, planes, height, width]
  std::vector<int32_t> labels;  // [count]
  std::vector<std::string> classes;
  std::string name;  // pictures are called name/0, name/1, …
};
std::unique_ptr<Source> packed_source(PackedPictures pictures);

}  // namespace lathe
