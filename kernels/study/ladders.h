// The ladders' rungs with their trials, a file each.
#pragma once

#include "kernels/study/study.h"

namespace lathe::study {

std::vector<Rung> gemm_rungs();         // gemm.cpp
std::vector<Rung> softmax_rungs();      // softmax.cpp
std::vector<Rung> elementwise_rungs();  // elementwise.cpp
std::vector<Rung> optimizer_rungs();    // optimizer.cpp
std::vector<Rung> reduce_rungs();       // reduce.cpp
std::vector<Rung> batchnorm_rungs();    // batchnorm.cpp
std::vector<Rung> transpose_rungs();    // transpose.cpp
std::vector<Rung> pool_rungs();         // pool.cpp
std::vector<Rung> conv2d_rungs();       // conv2d.cpp
std::vector<Rung> augment_rungs();      // augment.cpp

}  // namespace lathe::study
