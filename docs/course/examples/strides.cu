// Counts what a GPU's memory system would do for a kernel of your own: sectors and wavefronts a request, and races.
// Chapter 0 tells how to compile it, and asks you to change it.
#include <cstdio>

#include "hostcuda/portable/launch.h"
#include "hostcuda/trace/trace.h"

constexpr int kStride = 2;

__global__ void strided(const float* x, float* y) {
  __shared__ float part[32 * kStride];
  const int lane = threadIdx.x;
  part[lane * kStride] = x[lane * kStride];
  __syncthreads();
  y[lane] = part[(31 - lane) * kStride];
}

int main() {
  float *x = nullptr, *y = nullptr;
  cudaMalloc(&x, 32 * kStride * sizeof(float));
  cudaMalloc(&y, 32 * sizeof(float));
  hostcuda::trace::begin();
  lathe::launch<strided>(1, 32, 0, nullptr, x, y);
  cudaDeviceSynchronize();
  for (const hostcuda::trace::KernelTrace& kernel : hostcuda::trace::end()) {
    const auto print = [](const char* what, const hostcuda::trace::Traffic& t, const char* unit) {
      std::printf("%-14s %3lld requests, %5.1f %s each\n", what, (long long)t.requests,
                  t.requests ? double(t.moved) / double(t.requests) : 0.0, unit);
    };
    print("global loads", kernel.figures.global_load, "sectors");
    print("global stores", kernel.figures.global_store, "sectors");
    print("shared stores", kernel.figures.shared_store, "wavefronts");
    print("shared loads", kernel.figures.shared_load, "wavefronts");
    for (const auto& finding : kernel.findings)
      std::printf("%s at line %d: %s\n", hostcuda::trace::name_of(finding.kind), finding.line,
                  finding.message.c_str());
  }
}
