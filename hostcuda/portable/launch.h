// Launching a kernel, in one syntax for nvcc and for g++ with hostcuda.
//
//   __global__ void transpose(const float* in, float* out, int n);          // uses __syncthreads()
//   launch<transpose>(grid, block, shared_bytes, stream, in, out, n);       // or launch(transpose, grid, …)
//
//   template <typename T>
//   __global__ void relu(const T* x, T* y, int64_t n LATHE_FLAT) {     // no barriers, no warp operations
//     int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
//     if (i < n) y[i] = x[i] > T(0) ? x[i] : T(0);
//   }
//   launch_flat<relu<float>>(blocks_for(n, 256), 256, stream, x, y, n);
//
//   LATHE_DYNAMIC_SHARED(float, tile);                                      // inside a kernel: float* tile
//   LATHE_UNROLL for (…)                     // nvcc unrolls the loop: arrays it indexes stay in registers
//
// launch: any kernel. launch_flat: kernels with neither barriers nor warp operations; on a CPU they are a
// plain loop over the threads. With LATHE_FLAT after the last parameter (nothing under nvcc) and the index
// computed in 64 bits as above, g++ vectorises that loop as if it were written by hand; without it the kernel
// is as right but runs one thread after another. A LATHE_FLAT kernel reads threadIdx and the others in its
// own body only: functions that it calls get the index as an argument. LATHE_FLAT kernels are for launch_flat
// only.
//
// Arguments are converted to the kernel's parameter types and copied. Both return the launch's error; an
// error inside the kernel comes later, from a synchronising call.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <tuple>
#include <utility>

#ifdef __CUDACC__

#define LATHE_UNROLL _Pragma("unroll")
#define LATHE_FLAT
#define LATHE_DYNAMIC_SHARED(type, name)                                  \
  extern __shared__ __align__(1024) unsigned char lathe_dynamic_shared[]; \
  type* name = reinterpret_cast<type*>(lathe_dynamic_shared)

namespace lathe {

template <typename... Params, typename... Args>
cudaError_t launch(void (*kernel)(Params...), dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
                   Args&&... args) {
  if (shared_bytes > 48 * 1024) {  // more must be asked for
    cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(shared_bytes));
    if (error != cudaSuccess) return error;
  }
  kernel<<<grid, block, shared_bytes, stream>>>(std::forward<Args>(args)...);
  return cudaGetLastError();
}

template <auto Kernel, typename... Args>
cudaError_t launch(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream, Args&&... args) {
  return launch(Kernel, grid, block, shared_bytes, stream, std::forward<Args>(args)...);
}

template <auto Kernel, typename... Args>
cudaError_t launch_flat(dim3 grid, dim3 block, cudaStream_t stream, Args&&... args) {
  return launch(Kernel, grid, block, 0, stream, std::forward<Args>(args)...);
}

}  // namespace lathe

#else

#include "hostcuda/execution/launch.h"

#define LATHE_UNROLL
#ifdef LATHE_TRACED
#define LATHE_FLAT
#else
#define LATHE_FLAT , [[maybe_unused]] const ::hostcuda::FlatThread& hostcuda_thread
#endif
#define LATHE_DYNAMIC_SHARED(type, name) type* name = static_cast<type*>(::hostcuda::dynamic_shared())

namespace lathe {

template <typename... Params, typename... Args>
cudaError_t launch(void (*kernel)(Params...), dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
                   Args&&... args) {
  return hostcuda::launch_threads(
      {hostcuda::function_name(reinterpret_cast<void*>(kernel)), grid, block, shared_bytes},
      [kernel, values = std::tuple<Params...>(std::forward<Args>(args)...)] {
        hostcuda::call_kernel(kernel, values);
      },
      stream);
}

template <auto Kernel, typename... Args>
cudaError_t launch(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream, Args&&... args) {
  using Values = typename hostcuda::Signature<decltype(Kernel)>::Params;
  // A call by name: g++ 12 does not make a kernel template's code where another template takes its address
  // alone.
  auto kernel = [](auto&&... values) { Kernel(std::forward<decltype(values)>(values)...); };
  return hostcuda::launch_threads(
      {hostcuda::kernel_name<Kernel>(), grid, block, shared_bytes},
      [kernel, values = Values(std::forward<Args>(args)...)] { hostcuda::call_kernel(kernel, values); },
      stream);
}

template <auto Kernel, typename... Args>
cudaError_t launch_flat(dim3 grid, dim3 block, cudaStream_t stream, Args&&... args) {
#ifdef LATHE_TRACED  // a warp's requests need its lanes
  return launch<Kernel>(grid, block, 0, stream, std::forward<Args>(args)...);
#else
  return hostcuda::launch_flat<Kernel>(std::index_sequence_for<Args...>{}, grid, block, stream,
                                       std::forward<Args>(args)...);
#endif
}

}  // namespace lathe
#endif

namespace lathe {

// Blocks of `threads` that cover n elements, at least 1.
inline unsigned int blocks_for(int64_t n, int threads) {
  return n > threads ? static_cast<unsigned int>((n + threads - 1) / threads) : 1u;
}

}  // namespace lathe
