// Timing a trial on a GPU.
#pragma once

#include <string>
#include <vector>

#include "kernels/study/study.h"

namespace lathe {

// Seconds of one launch in each sample, by CUDA events, after warming up; a sample is as many launches as take
// some 2 ms. Where a library has the same, its samples and the rung's take turns.
struct Measured {
  std::vector<double> rung, library = {};
  std::string library_problem = {};  // why it has no samples, where it should have some
};
// Throws Error(failure) with CUDA's error, Unsupported, std::bad_alloc.
Measured measure(const study::Trial& trial, int samples = 15);

double median(std::vector<double> values);
// The middle half's width as a share of the median.
double spread(std::vector<double> values);

}  // namespace lathe
