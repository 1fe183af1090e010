// From the command line's data options to how datasets are opened; train, evaluate and data agree on it.
#pragma once

#include "apps/command_line/config.h"
#include "datasets/open.h"

namespace lathe {

inline OpenOptions open_options(const DataConfig& data, uint64_t seed) {
  OpenOptions options;
  options.stage.image_size = data.image_size;
  options.stage.strict = data.strict_data;
  options.decoder = parse_decoder(data.decoder);
  options.val_split = data.val_split;
  options.seed = seed;
  return options;
}

}  // namespace lathe
