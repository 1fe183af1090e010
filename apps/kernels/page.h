// The pages of lathe kernels trace and time: self-contained, a bar for each rung.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apps/kernels/tables.h"
#include "apps/kernels/traced.h"

namespace lathe {

struct Bar {
  const TrialReport* trial;
  double value;  // NaN: no bar
  std::string shown;
};
struct BarChart {
  std::string title;
  std::vector<Bar> bars;  // of all ladders
  double full = 0;        // the value of a whole bar; 0: the largest among those beside each other
};

// A section for each ladder: each chart with the bars of its rungs, trials of one number beside each other;
// then what `below` (HTML) says of the ladder. Before them the problems; the other texts are plain.
std::string kernels_page(const std::string& title, const std::string& note,
                         const std::vector<std::string>& problems, const std::vector<BarChart>& charts,
                         const std::function<std::string(const std::string& ladder)>& below);

std::string page_table(const Rows& rows);  // plain text to an HTML table

std::string traced_page(const std::vector<TracedTrial>& trials);

// Of `trials`, those of one ladder.
template <typename Report>
std::vector<Report> of_ladder(const std::vector<Report>& trials, const std::string& ladder) {
  std::vector<Report> found;
  for (const Report& trial : trials)
    if (trial.rung->ladder == ladder) found.push_back(trial);
  return found;
}

}  // namespace lathe
