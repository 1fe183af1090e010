// What a CUDA source gets from nvcc without asking: the runtime API and the device language, on a CPU.
#pragma once

#include "cuda_runtime_api.h"
#include "device_functions.h"
#include "device_math.h"
#include "vector_types.h"
