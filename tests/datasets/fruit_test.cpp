// The built-in pictures: deterministic, balanced, different between splits, and not solved by colour alone.
#include "datasets/fruit.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

#include "datasets/parallel.h"
#include "tests/datasets/fixtures.h"

namespace lathe {
namespace {

TEST(Fruit, ClassesAreInByteOrderAndBalanced) {
  for (const int64_t count : {6, 7, 13, 600, 4001}) {
    const auto source = make_fruit({.count = count});
    EXPECT_EQ(source->classes(), (std::vector<std::string>{"freshapples", "freshbanana", "freshoranges",
                                                           "rottenapples", "rottenbanana", "rottenoranges"}));
    std::array<int64_t, 6> counts{};
    std::set<std::string> names;
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_GE(source->label(i), source->label(std::max<int64_t>(i, 1) - 1)) << "classes come one by one";
      ++counts.at(source->label(i));
      names.insert(source->name(i));
    }
    EXPECT_LE(
        *std::max_element(counts.begin(), counts.end()) - *std::min_element(counts.begin(), counts.end()), 1);
    EXPECT_EQ(static_cast<int64_t>(names.size()), count);
    EXPECT_TRUE(names.contains("fruit/train/rottenoranges/0"));
  }
}

TEST(Fruit, APictureIsAFunctionOfItsNameAndTheSeed) {
  const auto a = make_fruit({.count = 60}), again = make_fruit({.count = 60}),
             more = make_fruit({.count = 120});
  for (int64_t i = 0; i < 60; i += 7) {
    EXPECT_EQ(a->read(i).rgb, again->read(i).rgb);
    for (int64_t j = 0; j < 120; ++j) {
      if (more->name(j) != a->name(i)) continue;
      EXPECT_EQ(more->read(j).rgb, a->read(i).rgb) << "independent of the count";
    }
  }
  EXPECT_NE(make_fruit({.count = 60, .seed = 2})->read(5).rgb, a->read(5).rgb);
}

TEST(Fruit, TrainingAndValidationShareNoPicture) {
  const auto train = make_fruit({.count = 300, .size = 16});
  const auto validation = make_fruit({.validation = true, .count = 300, .size = 16});
  std::set<std::vector<uint8_t>> seen;
  for (int64_t i = 0; i < 300; ++i) {
    seen.insert(train->read(i).rgb);
    seen.insert(validation->read(i).rgb);
  }
  EXPECT_EQ(seen.size(), 600u);
}

TEST(Fruit, OneSceneAtAnySize) {
  // A large picture, averaged down, looks like the small one: the scene does not depend on the size.
  const auto small = make_fruit({.count = 6, .size = 32}), large = make_fruit({.count = 6, .size = 128});
  for (int64_t i = 0; i < 6; ++i) {
    const Picture a = small->read(i), b = large->read(i);
    double difference = 0;
    for (int64_t y = 0; y < 32; ++y) {
      for (int64_t x = 0; x < 32; ++x) {
        double sum = 0;
        for (int64_t k = 0; k < 16; ++k) sum += b.pixel(4 * y + k / 4, 4 * x + k % 4)[1];
        difference += std::abs(sum / 16 - a.pixel(y, x)[1]) / 1024;
      }
    }
    EXPECT_LT(difference, 12);
  }
}

TEST(Fruit, AskingForTooLittleOrTooMuchIsRefused) {
  for (const FruitOptions& options : {FruitOptions{.count = 0}, FruitOptions{.count = 5},
                                      FruitOptions{.size = 7}, FruitOptions{.size = 100000}}) {
    EXPECT_EQ(error_of([&] { make_fruit(options); }).code(), ExitCode::usage);
  }
}

// Softmax regression on the raw pixels: a classifier without layers must stay under 70 %.
TEST(Fruit, ALinearClassifierDoesPoorly) {
  constexpr int kSide = 16, kInputs = kSide * kSide * 3 + 1, kClasses = 6;
  const auto load = [](const Source& source) {
    std::vector<std::vector<float>> inputs(source.size());
    parallel_for(source.size(), 0, [&](int64_t i) {
      for (const uint8_t value : source.read(i).rgb) inputs[i].push_back(static_cast<float>(value) / 128 - 1);
      inputs[i].push_back(1);
    });
    return inputs;
  };
  const auto train = make_fruit({.count = 1200, .size = kSide});
  const auto validation = make_fruit({.validation = true, .count = 300, .size = kSide});
  const auto x = load(*train), held_out = load(*validation);
  std::vector<float> weights(kClasses * kInputs);
  const auto scores = [&](const std::vector<float>& input) {
    std::array<float, kClasses> result{};
    for (int c = 0; c < kClasses; ++c) {
      for (int i = 0; i < kInputs; ++i) result[c] += weights[c * kInputs + i] * input[i];
    }
    return result;
  };
  for (int epoch = 0; epoch < 15; ++epoch) {
    for (int64_t step = 0; step < train->size(); ++step) {
      const int64_t i = step * 487 % train->size();  // mixes the classes: 487 and 1200 share no factor
      std::array<float, kClasses> p = scores(x[i]);
      const float highest = *std::max_element(p.begin(), p.end());
      float sum = 0;
      for (float& value : p) sum += value = std::exp(value - highest);
      for (int c = 0; c < kClasses; ++c) {
        const float slope = 0.001f * (p[c] / sum - (c == train->label(i) ? 1 : 0));
        for (int k = 0; k < kInputs; ++k) weights[c * kInputs + k] -= slope * x[i][k];
      }
    }
  }
  int right = 0;
  for (int64_t i = 0; i < validation->size(); ++i) {
    const auto p = scores(held_out[i]);
    if (std::max_element(p.begin(), p.end()) - p.begin() == validation->label(i)) ++right;
  }
  EXPECT_LT(right, 0.7 * 300);
  EXPECT_GT(right, 0.2 * 300) << "chance is 17 %: the labels carry no information at all";
}

}  // namespace
}  // namespace lathe
