// The SPEC that names a dataset on the command line: KIND, KIND:DIR or fruit:name=value,name=value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lathe {

struct Spec {
  enum class Kind { fruit, folder, cifar10, cifar100, idx } kind;
  std::string directory;  // all but fruit
  struct Fruit {
    std::optional<int64_t> train, val, size;
    std::optional<uint64_t> seed;
  } fruit;
};

// Throws Error(usage) for an unknown kind or option (with the nearest known one), a missing folder name, a
// value that is not a whole number.
Spec parse_spec(const std::string& text);

}  // namespace lathe
