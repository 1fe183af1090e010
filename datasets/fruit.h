// `fruit`: built-in, procedurally drawn pictures of apples, bananas and oranges, fresh and rotten. They are
// synthetic, and say so wherever they are used. A picture is a function of (seed, split, class, number)
// alone, at any size; training and validation pictures come from unrelated random sequences and never
// coincide.
#pragma once

#include <memory>

#include "datasets/source.h"

namespace lathe {

struct FruitOptions {
  bool validation = false;
  int64_t count = 1200;  // at least one a class; classes differ by at most one picture
  int64_t size = 32;     // side in pixels, at least 8
  uint64_t seed = 1;
};

constexpr int64_t kFruitTrain = 1200, kFruitValidation = 600;

// The pictures in class order: freshapples, freshbanana, freshoranges, rottenapples, rottenbanana,
// rottenoranges. Throws Error(usage) for a count or a size out of range.
std::unique_ptr<Source> make_fruit(const FruitOptions& options);

}  // namespace lathe
