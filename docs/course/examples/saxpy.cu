// The first kernel of the course: y = a·x + y, one thread for each element. Chapter 0 tells how to compile it.
#include <cstdio>
#include <vector>

#include "hostcuda/portable/launch.h"

__global__ void saxpy(float a, const float* x, float* y, int64_t n LATHE_FLAT) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

int main() {
  const int64_t n = 1000;
  std::vector<float> x(n), y(n, 1.0f);
  for (int64_t i = 0; i < n; ++i) x[i] = float(i);

  float *device_x = nullptr, *device_y = nullptr;
  cudaMalloc(&device_x, n * sizeof(float));
  cudaMalloc(&device_y, n * sizeof(float));
  cudaMemcpy(device_x, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(device_y, y.data(), n * sizeof(float), cudaMemcpyHostToDevice);

  lathe::launch_flat<saxpy>(lathe::blocks_for(n, 256), 256, nullptr, 2.0f, device_x, device_y, n);

  const cudaError_t error = cudaMemcpy(y.data(), device_y, n * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("%s: y[0] = %g, y[999] = %g\n", cudaGetErrorString(error), y[0], y[999]);
  cudaFree(device_x);
  cudaFree(device_y);
  return error != cudaSuccess;
}
