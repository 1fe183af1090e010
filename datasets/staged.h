// A source whose pictures all have one size, checked once and kept in memory where they fit: what the
// pipeline reads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "datasets/resize.h"
#include "datasets/source.h"

namespace lathe {

struct StageOptions {
  int64_t image_size = 32;  // the side of the network's input
  // The side of staged pictures. 0: the source's native size where it has one that is not larger than
  // image_size (the augmentation enlarges as it samples), otherwise image_size. A random resized crop wants
  // more pixels than the network's input: give 256 for 224.
  int64_t stage_size = 0;
  Fit fit = Fit::crop;
  int workers = 0;                         // threads of the first pass; 0: all cores
  int64_t cache_bytes = int64_t{1} << 30;  // staged pictures beyond this are read again in each epoch
  bool strict = false;                     // a picture that cannot be read is an error, not a warning
};

// Reads every picture of the source once, in parallel. What cannot be read is left out (see bad()), so the
// number of samples is the same in every epoch. Throws Error(data) if nothing is left, or, with strict, for
// the first bad picture. All reads are thread-safe.
class StagedSet {
 public:
  StagedSet(std::unique_ptr<Source> source, const StageOptions& options);

  int64_t size() const { return static_cast<int64_t>(samples_.size()); }
  int64_t height() const { return height_; }
  int64_t width() const { return width_; }
  int64_t sample_bytes() const { return height_ * width_ * 3; }
  const std::vector<std::string>& classes() const { return source_->classes(); }
  int32_t label(int64_t sample) const { return static_cast<int32_t>(source_->label(samples_[sample])); }
  std::string name(int64_t sample) const { return source_->name(samples_[sample]); }
  // Writes one picture, [height, width, 3]. Throws Error(data) if a file that is not cached went bad since.
  void load(int64_t sample, uint8_t* pixels) const;

  // One line for each picture that could not be read: its name and the cause, in the source's order.
  const std::vector<std::string>& bad() const { return bad_; }
  // How many pictures of each class there are.
  std::vector<int64_t> class_counts() const;
  bool fully_cached() const { return cached_ == source_->size(); }

 private:
  Picture staged(int64_t index) const;

  std::unique_ptr<Source> source_;
  Fit fit_;
  int64_t height_, width_;
  int64_t cached_;                // the source's pictures before this index are in cache_
  std::vector<uint8_t> cache_;    // [cached_, height, width, 3]
  std::vector<int64_t> samples_;  // sample -> index in the source
  std::vector<std::string> bad_;
};

}  // namespace lathe
