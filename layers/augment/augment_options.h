// --augment and --normalize: from text to numbers, to the attributes of an augment node, and back.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "engine/graph/attributes.h"
#include "kernels/augment/draw.h"

namespace lathe {

using AugmentOptions = kernels::Augmentation;

// y = (value / 255 − mean) / deviation, for red, green and blue.
struct Normalization {
  std::array<double, 3> mean = {0, 0, 0}, deviation = {1, 1, 1};
  bool operator==(const Normalization&) const = default;
};

// "none", "light", "standard", "heavy", or "NAME=VALUE,…". With pixels counted at a picture side of 32:
//   light     crop=4,flip=0.5                                                      what CIFAR-10 is usually
//   given standard  crop=4,flip=0.5,rotation=10,brightness=0.1,contrast=0.1,saturation=0.1 heavy
//   crop=4,flip=0.5,rotation=15,zoom=0.15,brightness=0.3,contrast=0.3,saturation=0.3,cutout=8
// Names, ranges: crop 0…512 and cutout 0…2048 (whole pixels), resized-crop 0.01…1, flip 0…1, rotation 0…180,
// zoom 0…0.9, shift, brightness, contrast and saturation 0…1. See kernels/augment/draw.h for what they do.
// Throws Error(usage) for an unknown name (with a suggestion), a name given twice, a value out of range, or
// one that does not fit the picture.
AugmentOptions parse_augment(const std::string& text, int64_t image_size);
// "crop=4,flip=0.5", or "none"; parse_augment() reads it back.
std::string to_string(const AugmentOptions& options);
// Every name that a list may hold.
std::vector<std::string> augment_names();

// "cifar10", "imagenet", "none" (values in [0, 1]), or "M,M,M/S,S,S". Throws Error(usage).
Normalization parse_normalize(const std::string& text);

// Why the options do not fit pictures of this size, or "".
std::string unfit(const AugmentOptions& options, int64_t height, int64_t width);

// The attributes of an augment node whose output is height × width; evaluation passes AugmentOptions{}.
Attributes augment_attributes(const AugmentOptions& options, const Normalization& normalization,
                              int64_t height, int64_t width);
AugmentOptions augment_options(const Attributes& attributes);
Normalization normalization(const Attributes& attributes);

}  // namespace lathe
