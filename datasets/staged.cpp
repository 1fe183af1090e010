// The first pass over a source; see staged.h.
#include "datasets/staged.h"

#include <algorithm>

#include "datasets/parallel.h"
#include "engine/runtime/error.h"

namespace lathe {

StagedSet::StagedSet(std::unique_ptr<Source> source, const StageOptions& options)
    : source_(std::move(source)), fit_(options.fit) {
  const int64_t side = options.stage_size > 0 ? options.stage_size : options.image_size;
  height_ = width_ = side;
  const std::optional<Source::Extent> native = source_->native();
  if (native && options.stage_size <= 0 && native->height <= side && native->width <= side) {
    height_ = native->height, width_ = native->width;
  }
  cached_ = std::min(source_->size(), options.cache_bytes / sample_bytes());
  cache_.resize(cached_ * sample_bytes());

  std::vector<std::string> failures(source_->size());  // "" where the picture is good
  parallel_for(source_->size(), options.workers, [&](int64_t index) {
    try {
      const Picture picture = staged(index);
      if (index < cached_) std::copy(picture.rgb.begin(), picture.rgb.end(), &cache_[index * sample_bytes()]);
    } catch (const Error& error) {
      failures[index] = error.what();
    }
  });

  for (int64_t index = 0; index < source_->size(); ++index) {
    if (failures[index].empty()) {
      samples_.push_back(index);
    } else {
      bad_.push_back(failures[index]);
    }
  }
  if (!bad_.empty() && (options.strict || samples_.empty())) {
    throw Error(ExitCode::data, std::to_string(bad_.size()) + " of " + std::to_string(source_->size()) +
                                    " pictures cannot be used, the first: " + bad_.front());
  }
  if (samples_.empty()) throw Error(ExitCode::data, "the dataset has no pictures");
}

Picture StagedSet::staged(int64_t index) const {
  Picture picture = source_->read(index);
  if (picture.height == height_ && picture.width == width_) return picture;
  try {
    return fit_square(picture, height_, fit_);
  } catch (const Error& error) {
    throw Error(ExitCode::data, source_->name(index) + ": " + error.what());
  }
}

void StagedSet::load(int64_t sample, uint8_t* pixels) const {
  const int64_t index = samples_.at(sample);
  if (index < cached_) {
    std::copy_n(&cache_[index * sample_bytes()], sample_bytes(), pixels);
  } else {
    const Picture picture = staged(index);
    std::copy(picture.rgb.begin(), picture.rgb.end(), pixels);
  }
}

std::vector<int64_t> StagedSet::class_counts() const {
  std::vector<int64_t> counts(classes().size());
  for (int64_t sample = 0; sample < size(); ++sample) ++counts[label(sample)];
  return counts;
}

}  // namespace lathe
