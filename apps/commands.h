// The commands. Each returns its exit code (engine/runtime/error.h; 130 or 143 after a signal) or throws
// Error. Results go to stdout, everything else to stderr.
#pragma once

#include "apps/command_line/config.h"

namespace lathe {

int train(const TrainConfig& config);           // train.cpp
int evaluate(const EvaluateConfig& config);     // evaluate.cpp
int predict(const PredictConfig& config);       // predict.cpp
int data_tool(const DataToolConfig& config);    // data.cpp
int kernels_tool(const KernelsConfig& config);  // kernels.cpp
int doctor(const DoctorConfig& config);         // doctor.cpp

}  // namespace lathe
