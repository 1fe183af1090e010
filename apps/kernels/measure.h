// Timing a trial on a GPU.
#pragma once

#include <vector>

#include "kernels/study/study.h"

namespace lathe {

// Seconds of one launch in each of `samples` samples, by CUDA events, after warming up; a sample is as many
// launches as take some 2 ms. Throws Error(failure) with CUDA's error, Unsupported, std::bad_alloc.
std::vector<double> measure(const study::Trial& trial, int samples = 15);

double median(std::vector<double> values);
// The middle half's width as a share of the median.
double spread(std::vector<double> values);

}  // namespace lathe
