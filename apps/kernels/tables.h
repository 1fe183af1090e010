// The traced figures as rows of text, for the terminal and for pages. The first row is the heading.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "apps/kernels/traced.h"

namespace lathe {

using Rows = std::vector<std::vector<std::string>>;

// A row a trial; where it has several kernels, a row for each below.
Rows figure_rows(const std::vector<TracedTrial>& trials);
// What the headings of figure_rows mean.
extern const char* const kFigureLegend;

// The text of source lines, from files named relative to the repository: looked for here, and in the folders
// above this program.
class SourceText {
 public:
  std::string line(const std::string& file, int line);  // trimmed; "" where it cannot be read
  bool changed() const { return changed_; }             // a file was, since the program was built
 private:
  std::map<std::string, std::vector<std::string>> files_;
  bool changed_ = false;
};

// A row for each source line of one kernel that touched memory.
Rows line_rows(const hostcuda::trace::KernelTrace& kernel, SourceText& source);

// Every finding and every wrong result: "gemm/03_shared_tile: race in …".
std::vector<std::string> problem_lines(const std::vector<TracedTrial>& trials);

std::string format_count(double count);    // "9216", "16.8M"
std::string format_figure(double value);   // "4.00", "16.5"; "-" for NaN
std::string format_traffic(double bytes);  // "84.1 MB", of 10⁶ bytes

}  // namespace lathe
