// Subsets, relabelled sources and pictures in memory; see views.h.
#include "datasets/views.h"

#include <algorithm>
#include <cmath>

#include "datasets/random.h"
#include "engine/runtime/error.h"

namespace lathe {
namespace {

class Subset final : public Source {
 public:
  Subset(std::shared_ptr<const Source> source, std::vector<int64_t> indices)
      : source_(std::move(source)), indices_(std::move(indices)) {}
  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  const std::vector<std::string>& classes() const override { return source_->classes(); }
  int64_t label(int64_t index) const override { return source_->label(indices_[index]); }
  std::string name(int64_t index) const override { return source_->name(indices_[index]); }
  Picture read(int64_t index) const override { return source_->read(indices_[index]); }
  std::optional<Extent> native() const override { return source_->native(); }

 private:
  std::shared_ptr<const Source> source_;
  std::vector<int64_t> indices_;
};

class Relabelled final : public Source {
 public:
  Relabelled(std::unique_ptr<Source> source, std::vector<std::string> classes, std::vector<int64_t> new_label)
      : source_(std::move(source)), classes_(std::move(classes)), new_label_(std::move(new_label)) {}
  int64_t size() const override { return source_->size(); }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(int64_t index) const override { return new_label_[source_->label(index)]; }
  std::string name(int64_t index) const override { return source_->name(index); }
  Picture read(int64_t index) const override { return source_->read(index); }
  std::optional<Extent> native() const override { return source_->native(); }

 private:
  std::unique_ptr<Source> source_;
  std::vector<std::string> classes_;
  std::vector<int64_t> new_label_;
};

class Packed final : public Source {
 public:
  explicit Packed(PackedPictures pictures) : pictures_(std::move(pictures)) {}
  int64_t size() const override { return static_cast<int64_t>(pictures_.labels.size()); }
  const std::vector<std::string>& classes() const override { return pictures_.classes; }
  int64_t label(int64_t index) const override { return pictures_.labels[index]; }
  std::string name(int64_t index) const override { return pictures_.name + "/" + std::to_string(index); }
  std::optional<Extent> native() const override { return Extent{pictures_.height, pictures_.width}; }
  Picture read(int64_t index) const override {
    Picture picture(pictures_.height, pictures_.width);
    const int64_t plane = picture.height * picture.width;
    const uint8_t* in = pictures_.pixels.data() + index * pictures_.planes * plane;
    for (int64_t i = 0; i < plane; ++i) {
      for (int64_t c = 0; c < 3; ++c)
        picture.rgb[3 * i + c] = in[(pictures_.planes == 3 ? c * plane : 0) + i];
    }
    return picture;
  }

 private:
  PackedPictures pictures_;
};

}  // namespace

std::unique_ptr<Source> subset(std::shared_ptr<const Source> source, std::vector<int64_t> indices) {
  return std::make_unique<Subset>(std::move(source), std::move(indices));
}

std::unique_ptr<Source> relabelled(std::unique_ptr<Source> source, const std::vector<std::string>& classes,
                                   const std::string& what, std::vector<std::string>& warnings) {
  std::vector<int64_t> new_label;
  for (const std::string& name : source->classes()) {
    const auto found = std::find(classes.begin(), classes.end(), name);
    if (found == classes.end()) {
      throw Error(ExitCode::data, what + ": class '" + name + "' is not one of the " +
                                      std::to_string(classes.size()) + " classes that are trained");
    }
    new_label.push_back(found - classes.begin());
  }
  std::vector<int64_t> counts(classes.size());
  for (int64_t i = 0; i < source->size(); ++i) ++counts[new_label[source->label(i)]];
  for (size_t i = 0; i < classes.size(); ++i) {
    if (counts[i] == 0) warnings.push_back(what + ": class '" + classes[i] + "' has no pictures");
  }
  return std::make_unique<Relabelled>(std::move(source), classes, std::move(new_label));
}

std::pair<std::unique_ptr<Source>, std::unique_ptr<Source>> stratified_split(
    std::unique_ptr<Source> source, double fraction, uint64_t seed, std::vector<std::string>& warnings) {
  const std::shared_ptr<const Source> all = std::move(source);
  std::vector<std::vector<int64_t>> members(all->classes().size());
  for (int64_t i = 0; i < all->size(); ++i) members[all->label(i)].push_back(i);

  std::vector<int64_t> train, validation;
  for (size_t label = 0; label < members.size(); ++label) {
    std::vector<int64_t>& indices = members[label];
    const auto count = static_cast<int64_t>(indices.size());
    if (count == 1) {
      warnings.push_back("class '" + all->classes()[label] +
                         "' has one picture: it is used for training alone");
    }
    const int64_t held_out =
        count < 2 ? 0
                  : std::clamp<int64_t>(std::llround(static_cast<double>(count) * fraction), 1, count - 1);
    shuffle(indices, Random{seed, label});
    validation.insert(validation.end(), indices.begin(), indices.begin() + held_out);
    train.insert(train.end(), indices.begin() + held_out, indices.end());
  }
  std::sort(train.begin(), train.end());
  std::sort(validation.begin(), validation.end());
  return {subset(all, std::move(train)), subset(all, std::move(validation))};
}

std::unique_ptr<Source> packed_source(PackedPictures pictures) {
  return std::make_unique<Packed>(std::move(pictures));
}

}  // namespace lathe
