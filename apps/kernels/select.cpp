// See select.h.
#include "apps/kernels/select.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/runtime/error.h"
#include "engine/runtime/printable.h"
#include "engine/runtime/suggest.h"

namespace lathe {
namespace {

// "gemm/" and "kernels/gemm/03_shared_tile.cu" are what a shell completes.
std::string without_path(std::string word) {
  if (word.ends_with(".cu")) word.resize(word.size() - 3);
  if (size_t at = word.rfind("kernels/"); at != std::string::npos) word.erase(0, at + 8);
  if (word.size() > 1 && word.back() == '/') word.pop_back();
  return word;
}

bool matches(const std::string& word, const study::Rung& rung) {
  return word == rung.ladder || word == rung.id() || word == rung.ladder + "/" + rung.name ||
         word == fmt::format("{}/{}", rung.ladder, rung.number) ||
         word == fmt::format("{}/{:02}", rung.ladder, rung.number);
}

std::string suggestion(const std::string& word) {
  std::vector<std::string> names;
  for (const study::Rung& rung : study::rungs()) {
    if (lower(word) == rung.name) return "; did you mean '" + rung.id() + "'?";
    for (const std::string& name : {rung.ladder, rung.id(), rung.ladder + "/" + rung.name})
      names.push_back(name);
  }
  const std::string ladder = word.substr(0, word.find('/'));
  size_t rungs = 0;
  for (const study::Rung& rung : study::rungs()) rungs += rung.ladder == ladder;
  const std::string rest = word.substr(std::min(word.size(), ladder.size() + 1));
  if (rungs > 0 && !rest.empty() && rest.find_first_not_of("0123456789") == std::string::npos)
    return fmt::format(": {} has {} rungs", ladder, rungs);
  return did_you_mean(word, names);
}

}  // namespace

bool names_a_rung(const std::string& word) {
  return std::ranges::any_of(study::rungs(),
                             [&](const study::Rung& rung) { return matches(without_path(word), rung); });
}

std::vector<const study::Rung*> select_rungs(const std::vector<std::string>& words) {
  for (const std::string& word : words)
    if (!names_a_rung(word))
      throw Error(ExitCode::usage,
                  fmt::format("'{}' is no rung and no ladder{}; lathe kernels list shows them",
                              printable(word, 80), suggestion(without_path(word))));
  std::vector<const study::Rung*> selected;
  for (const study::Rung& rung : study::rungs())
    if (words.empty() || std::ranges::any_of(words, [&](const std::string& word) {
          return matches(without_path(word), rung);
        }))
      selected.push_back(&rung);
  return selected;
}

std::string title_of(const study::Rung& rung) {
  std::string_view title = study::opening_comment(rung);
  title = title.substr(0, title.find('\n'));
  title = title.substr(0, title.find(".  "));  // a formula follows
  const std::string number = fmt::format("rung {}: ", rung.number);
  if (size_t at = title.find(number); at != std::string_view::npos) title.remove_prefix(at + number.size());
  return std::string(title);
}

std::string elements_of(const study::Rung& rung) {
  std::string text;
  for (study::Element element : rung.elements) {
    if (!text.empty()) text += ' ';
    text += study::name_of(element);
  }
  return text;
}

}  // namespace lathe
