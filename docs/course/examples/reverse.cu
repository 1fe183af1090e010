// A block turns 256 numbers round through shared memory. With -DNO_BARRIER it is wrong: chapter 0 tells how.
#include <cstdio>
#include <vector>

#include "hostcuda/portable/launch.h"

constexpr int kThreads = 256;

__global__ void reverse(const float* x, float* y) {  // [blocks · 256] each
  __shared__ float part[kThreads];
  const int thread = threadIdx.x;
  const int64_t first = int64_t(blockIdx.x) * kThreads;
  part[thread] = x[first + thread];
#ifndef NO_BARRIER
  __syncthreads();  // all 256 are there
#endif
  y[first + thread] = part[kThreads - 1 - thread];
}

int main() {
  const int blocks = 4, n = blocks * kThreads;
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; ++i) x[i] = float(i);
  float *device_x = nullptr, *device_y = nullptr;
  cudaMalloc(&device_x, n * sizeof(float));
  cudaMalloc(&device_y, n * sizeof(float));
  cudaMemcpy(device_x, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);

  lathe::launch<reverse>(blocks, kThreads, 0, nullptr, device_x, device_y);

  cudaMemcpy(y.data(), device_y, n * sizeof(float), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += y[i] != x[i / kThreads * kThreads + kThreads - 1 - i % kThreads];
  std::printf("%d of %d are wrong\n", wrong, n);
  cudaFree(device_x);
  cudaFree(device_y);
  return wrong != 0;
}
