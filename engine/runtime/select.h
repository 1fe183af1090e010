// Which implementation computes a node.
#pragma once

#include <string>

#include "engine/graph/operation.h"

namespace lathe {

struct Selection {
  const Implementation* implementation = nullptr;  // nullptr: none supports the call
  std::string requested;
  std::string reason;  // why the requested one is not used; empty where it is, or where it was only a default
};

// The implementation that the options ask for, or the first other one that supports the call
// (library, handwritten, reference).
Selection select_implementation(const Operation& operation, const Call& call, const Options& options);

}  // namespace lathe
