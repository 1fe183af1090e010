// The built-in pictures as a Source; what is in a picture is drawn by lot in fruit_scene.cpp and painted in
// fruit_paint.cpp.
#include "datasets/fruit.h"

#include <string>

#include "datasets/fruit_scene.h"
#include "engine/runtime/error.h"

namespace lathe {
namespace {

const std::vector<std::string> kClasses = {"freshapples",  "freshbanana",  "freshoranges",
                                           "rottenapples", "rottenbanana", "rottenoranges"};
constexpr int64_t kMaxSize = 4096, kMaxCount = 10'000'000;

class Fruit final : public Source {
 public:
  explicit Fruit(const FruitOptions& options) : options_(options) {}

  int64_t size() const override { return options_.count; }
  const std::vector<std::string>& classes() const override { return kClasses; }
  std::optional<Extent> native() const override { return Extent{options_.size, options_.size}; }

  // Pictures stand in class order; the first count % 6 classes have one more.
  int64_t label(int64_t index) const override {
    return ((index + 1) * 6 + options_.count - 1) / options_.count - 1;
  }

  std::string name(int64_t index) const override {
    return std::string("fruit/") + (options_.validation ? "val/" : "train/") + kClasses[label(index)] + "/" +
           std::to_string(number(index));
  }

  Picture read(int64_t index) const override {
    const auto kind = static_cast<FruitKind>(label(index) % 3);
    const bool rotten = label(index) >= 3;
    const uint64_t split = options_.validation ? 1 : 0;
    Random random{options_.seed, split, static_cast<uint64_t>(label(index)),
                  static_cast<uint64_t>(number(index))};
    return paint(draw_scene(kind, rotten, random), options_.size);
  }

 private:
  // The picture's place within its class.
  int64_t number(int64_t index) const { return index - label(index) * options_.count / 6; }

  FruitOptions options_;
};

}  // namespace

std::unique_ptr<Source> make_fruit(const FruitOptions& options) {
  if (options.count < static_cast<int64_t>(kClasses.size())) {
    throw Error(ExitCode::usage, "fruit: train and val need at least 6 pictures, one for each class");
  }
  if (options.count > kMaxCount) {
    throw Error(ExitCode::usage, "fruit: train and val can be at most 10000000 pictures each");
  }
  if (options.size < 8 || options.size > kMaxSize) {
    throw Error(ExitCode::usage, "fruit: size must be between 8 and 4096 pixels");
  }
  return std::make_unique<Fruit>(options);
}

}  // namespace lathe
