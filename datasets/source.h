// Where labelled pictures come from. A Source is raw: whole decoded pictures, whatever their size. Training
// reads a StagedSet (staged.h), which holds the same pictures at one size; open.h opens either from a SPEC.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "datasets/picture.h"

namespace lathe {

// A finite, indexed, labelled set of pictures. Every function may be called from many threads at once.
class Source {
 public:
  virtual ~Source() = default;
  virtual int64_t size() const = 0;
  virtual const std::vector<std::string>& classes() const = 0;
  // The class of a picture, an index into classes().
  virtual int64_t label(int64_t index) const = 0;
  // For reports: a file's path, or "fruit/train/freshapples/17".
  virtual std::string name(int64_t index) const = 0;
  // The whole picture. Throws Error(data) that names it and the cause.
  virtual Picture read(int64_t index) const = 0;
  // The size that all pictures have by construction, or nothing.
  struct Extent {
    int64_t height, width;
  };
  virtual std::optional<Extent> native() const { return std::nullopt; }
};

}  // namespace lathe
