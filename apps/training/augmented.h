// Pictures as training sees them: through the real augment kernel, but not normalised.
#pragma once

#include <vector>

#include "datasets/staged.h"
#include "engine/runtime/options.h"
#include "layers/augment/augment_options.h"

namespace lathe {

struct AugmentedSample {
  int64_t sample = 0, epoch = 0;  // what decides, with the seed, how it is augmented
};

// One picture of image_size × image_size for each sample, rounded to 8 bits. Blanked parts (cutout) are the
// normalisation's mean, as the network gets them.
std::vector<Picture> augmented_pictures(const StagedSet& set, const std::vector<AugmentedSample>& samples,
                                        const AugmentOptions& augment, const Normalization& normalization,
                                        int64_t image_size, uint64_t seed, const Options& options);

}  // namespace lathe
