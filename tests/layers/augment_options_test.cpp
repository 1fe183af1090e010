// --augment and --normalize: what they accept, what they refuse and how.
#include "layers/augment/augment_options.h"

#include <gtest/gtest.h>

#include "engine/runtime/error.h"

namespace lathe {
namespace {

template <typename Call>
void expect_usage(Call call, const std::string& part) {
  try {
    call();
    ADD_FAILURE() << "accepted; expected a message with: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}
void expect_refused(const std::string& text, const std::string& part) {
  expect_usage([&] { parse_augment(text, 32); }, part);
}

TEST(AugmentOptions, Levels) {
  EXPECT_EQ(parse_augment("none", 32), AugmentOptions{});
  EXPECT_EQ(to_string(parse_augment("light", 32)), "crop=4,flip=0.5");
  EXPECT_EQ(to_string(parse_augment("standard", 32)),
            "crop=4,flip=0.5,rotation=10,brightness=0.1,contrast=0.1,saturation=0.1");
  EXPECT_EQ(to_string(parse_augment("heavy", 32)),
            "crop=4,flip=0.5,rotation=15,zoom=0.15,brightness=0.3,contrast=0.3,saturation=0.3,cutout=8");
  EXPECT_EQ(parse_augment("heavy", 224).crop, 28);
  EXPECT_EQ(parse_augment("heavy", 224).cutout, 56);
}

TEST(AugmentOptions, ListsAndBack) {
  const std::string all =
      "crop=4,resized-crop=0.5,flip=0.25,rotation=15,zoom=0.1,shift=0.2,brightness=0.3,contrast=0.4,"
      "saturation=0.6,cutout=8";
  AugmentOptions options = parse_augment(all, 32);
  EXPECT_EQ(to_string(options), all);
  EXPECT_EQ(options.resized_crop, 0.5);
  EXPECT_EQ(parse_augment("flip=1e-3", 32).flip, 0.001);
  Normalization cifar = parse_normalize("cifar10");
  Attributes attributes = augment_attributes(options, cifar, 32, 48);
  EXPECT_EQ(augment_options(attributes), options);
  EXPECT_EQ(normalization(attributes), cifar);
  EXPECT_EQ(to_string(parse_augment("flip=0", 32)), "none");
}

TEST(AugmentOptions, RefusesWithAReason) {
  expect_refused("standart", "did you mean 'standard'?");
  expect_refused("flipp=0.5", "did you mean 'flip'?");
  expect_refused("rotate=3,flip=0.5", "rotation");
  expect_refused("flip=0.5,flip=0.6", "given twice");
  for (const char* text :
       {"flip=1.5", "flip=-0.1", "flip=nan", "flip=inf", "flip=0,5", "flip=", "flip", "crop=1.5", "crop=-1",
        "rotation=181", "zoom=1", "cutout=5asdf", "resized-crop=0", "resized-crop=2", "", ",", "flip=0.5,"})
    expect_refused(text, "--augment");
  expect_refused("crop=32", "crop=32 does not leave anything");
  expect_refused("cutout=33", "cutout=33 covers");
  EXPECT_EQ(parse_augment("cutout=32,crop=31", 32).cutout, 32);
}

TEST(NormalizeOptions, NamesNumbersAndErrors) {
  EXPECT_EQ(parse_normalize("none"), Normalization{});
  EXPECT_EQ(parse_normalize("imagenet").deviation[0], 0.229);
  EXPECT_EQ(parse_normalize("0.1,0.2,0.3/1,2,3"), (Normalization{{0.1, 0.2, 0.3}, {1, 2, 3}}));
  for (const char* text : {"1,2/1,2,3", "1,2,3/1,2,0", "1,2,3/1,-2,3", "1,2,3/1,2,3/4", "a,2,3/1,2,3",
                           "1,2,3,4/1,2,3", "1,2,3/nan,2,3", "", "/", "1,2,3/1,2,1e-50"})
    expect_usage([&] { parse_normalize(text); }, "--normalize");
  expect_usage([] { parse_normalize("cifar"); }, "did you mean 'cifar10'?");
}

}  // namespace
}  // namespace lathe
