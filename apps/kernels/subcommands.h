// What lathe kernels check, trace, time and explain do with the rungs that were named. Each returns its exit
// code.
#pragma once

#include <vector>

#include "apps/command_line/config.h"
#include "apps/run/console.h"
#include "kernels/study/study.h"

namespace lathe {

using Selection = std::vector<const study::Rung*>;

int check_kernels(const KernelsConfig& config, const Selection& rungs, Console& console);    // check.cpp
int trace_kernels(const KernelsConfig& config, const Selection& rungs, Console& console);    // trace.cpp
int time_kernels(const KernelsConfig& config, const Selection& rungs, Console& console);     // time.cpp
int predict_kernels(const KernelsConfig& config, const Selection& rungs, Console& console);  // predicted.cpp
int explain_kernels(const KernelsConfig& config, const Selection& rungs, Console& console);  // explain.cpp

}  // namespace lathe
