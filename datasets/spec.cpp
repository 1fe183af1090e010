// Parses a dataset SPEC; see spec.h.
#include "datasets/spec.h"

#include <algorithm>
#include <charconv>

#include "engine/runtime/error.h"
#include "engine/runtime/printable.h"
#include "engine/runtime/suggest.h"

namespace lathe {
namespace {

const std::vector<std::string> kKinds = {"fruit", "folder", "cifar10", "cifar100", "idx"};
const std::vector<std::string> kFruitOptions = {"train", "val", "size", "seed"};

[[noreturn]] void refuse(const std::string& spec, const std::string& why) {
  throw Error(ExitCode::usage, "dataset '" + printable(spec) + "': " + why);
}

void set_fruit_option(const std::string& spec, const std::string& option, Spec::Fruit& fruit) {
  const size_t equals = option.find('=');
  const std::string name = option.substr(0, equals);
  if (std::find(kFruitOptions.begin(), kFruitOptions.end(), name) == kFruitOptions.end()) {
    refuse(spec, "unknown option '" + name + "' (there are train, val, size, seed)" +
                     did_you_mean(name, kFruitOptions));
  }
  const std::string text = equals == std::string::npos ? "" : option.substr(equals + 1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    refuse(spec, "'" + name + "' needs a whole number, as in " + name + "=100");
  }
  if (name == "seed") {
    if (fruit.seed) refuse(spec, "'seed' is given twice");
    fruit.seed = static_cast<uint64_t>(value);
    return;
  }
  auto& field = name == "train" ? fruit.train : name == "val" ? fruit.val : fruit.size;
  if (field) refuse(spec, "'" + name + "' is given twice");
  field = value;
}

}  // namespace

Spec parse_spec(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  const auto found = std::find(kKinds.begin(), kKinds.end(), kind);
  if (found == kKinds.end()) {
    const bool path = kind.find('/') != std::string::npos || kind.find('.') != std::string::npos;
    refuse(text, "unknown kind; use fruit[:options], folder:DIR, cifar10:DIR, cifar100:DIR or idx:DIR" +
                     (path ? "; did you mean 'folder:" + text + "'?" : did_you_mean(kind, kKinds)));
  }
  Spec spec{};
  spec.kind = static_cast<Spec::Kind>(found - kKinds.begin());
  if (spec.kind != Spec::Kind::fruit) {
    if (rest.empty()) refuse(text, "the folder is missing: " + kind + ":DIR");
    spec.directory = rest;
    return spec;
  }
  for (size_t begin = 0; begin < rest.size();) {
    const size_t comma = std::min(rest.find(',', begin), rest.size());
    set_fruit_option(text, rest.substr(begin, comma - begin), spec.fruit);
    begin = comma + 1;
  }
  return spec;
}

}  // namespace lathe
