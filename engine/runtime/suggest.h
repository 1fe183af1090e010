// "Did you mean": the nearest of a list of names, for every message about an unknown word.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

// Edits (insert, delete, replace, swap neighbours) that turn a into b.
inline int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = above;
    above = row;
  }
  return above[b.size()];
}

inline std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

// The candidate that `word` probably stands for, or "" where none is near. A prefix counts as near, and so
// does another case.
template <typename Strings>
std::string nearest(std::string_view word, const Strings& candidates) {
  if (word.empty() || word.size() > 64) return "";
  std::string best;
  int best_distance = std::max(1, static_cast<int>(word.size()) / 3) + 1;
  for (const auto& entry : candidates) {
    std::string_view candidate = entry;
    int distance = edit_distance(lower(word), lower(candidate));
    if (word.size() >= 2 && candidate.substr(0, word.size()) == word) distance = std::min(distance, 1);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

// "; did you mean 'x'?" or nothing; `prefix` is put before the suggestion ("--" for options).
template <typename Strings>
std::string did_you_mean(std::string_view word, const Strings& candidates, std::string_view prefix = "") {
  std::string best = nearest(word, candidates);
  return best.empty() ? "" : "; did you mean '" + std::string(prefix) + best + "'?";
}

}  // namespace lathe
