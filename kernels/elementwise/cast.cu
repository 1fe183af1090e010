// Conversions between f32, f16, bf16 and u8, written out on the bits so that every build rounds alike.
//
// Idea.   f32 → 16 bit rounds to nearest even by adding half of the last kept place (less one, plus the kept
//         bit's parity) to the bits. f16 subnormals come from a float addition that puts their last place at
//         bit 0.
// Bytes.  Element sizes of input and output; about ten integer operations.
// Bound.  Memory bandwidth.
#include "hostcuda/portable/launch.h"
#include "kernels/elementwise/elementwise.h"

namespace lathe::kernels {
namespace {

constexpr int kThreads = 256;

__device__ inline uint16_t to_bf16(float x) {
  uint32_t bits = __float_as_uint(x);
  uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1)) >> 16;
  return static_cast<uint16_t>((bits & 0x7FFFFFFFu) > 0x7F800000u ? (bits >> 16 | 0x40u) : rounded);
}

__device__ inline float from_bf16(uint16_t x) { return __uint_as_float(uint32_t{x} << 16); }

__device__ inline uint16_t to_f16(float x) {
  uint32_t bits = __float_as_uint(x), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
  // 0.5 has its last place at 2^-24, the last place of f16 subnormals: the sum's low bits are the answer.
  uint32_t subnormal = __float_as_uint(__uint_as_float(magnitude) + 0.5f) - 0x3F000000u;
  uint32_t normal = (magnitude - (112u << 23) + 0xFFFu + (magnitude >> 13 & 1)) >> 13;
  uint32_t result = magnitude < (113u << 23) ? subnormal : normal;
  result = magnitude >= 0x477FF000u ? 0x7C00u : result;                              // 65520 and above
  result = magnitude > 0x7F800000u ? 0x7E00u | (magnitude >> 13 & 0x3FFu) : result;  // NaN
  return static_cast<uint16_t>(sign | result);
}

__device__ inline float from_f16(uint16_t x) {
  uint32_t sign = (uint32_t{x} & 0x8000u) << 16, magnitude = x & 0x7FFFu;
  uint32_t normal = (magnitude << 13) + (112u << 23);
  float subnormal = static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f;
  uint32_t bits = magnitude < 0x400u ? __float_as_uint(subnormal) : normal;
  bits = magnitude >= 0x7C00u ? magnitude << 13 | 0x7F800000u : bits;
  return __uint_as_float(sign | bits);
}

struct F32ToF16 {
  __device__ uint16_t operator()(float x) const { return to_f16(x); }
};
struct F16ToF32 {
  __device__ float operator()(uint16_t x) const { return from_f16(x); }
};
struct F32ToBf16 {
  __device__ uint16_t operator()(float x) const { return to_bf16(x); }
};
struct Bf16ToF32 {
  __device__ float operator()(uint16_t x) const { return from_bf16(x); }
};
struct F16ToBf16 {
  __device__ uint16_t operator()(uint16_t x) const { return to_bf16(from_f16(x)); }
};
struct Bf16ToF16 {
  __device__ uint16_t operator()(uint16_t x) const { return to_f16(from_bf16(x)); }
};
struct U8ToF32 {
  __device__ float operator()(uint8_t x) const { return static_cast<float>(x); }
};

template <typename Convert, typename In, typename Out>
__global__ void convert_kernel(const In* x, Out* y, int64_t n LATHE_FLAT) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = Convert()(x[i]);
}

template <typename Convert, typename In, typename Out>
void convert(const In* x, Out* y, int64_t n, cudaStream_t stream) {
  if (n > 0)
    launch_flat<convert_kernel<Convert, In, Out>>(blocks_for(n, kThreads), kThreads, stream, x, y, n);
}

}  // namespace

void f32_to_f16(const float* x, uint16_t* y, int64_t n, cudaStream_t stream) {
  convert<F32ToF16>(x, y, n, stream);
}
void f16_to_f32(const uint16_t* x, float* y, int64_t n, cudaStream_t stream) {
  convert<F16ToF32>(x, y, n, stream);
}
void f32_to_bf16(const float* x, uint16_t* y, int64_t n, cudaStream_t stream) {
  convert<F32ToBf16>(x, y, n, stream);
}
void bf16_to_f32(const uint16_t* x, float* y, int64_t n, cudaStream_t stream) {
  convert<Bf16ToF32>(x, y, n, stream);
}
void f16_to_bf16(const uint16_t* x, uint16_t* y, int64_t n, cudaStream_t stream) {
  convert<F16ToBf16>(x, y, n, stream);
}
void bf16_to_f16(const uint16_t* x, uint16_t* y, int64_t n, cudaStream_t stream) {
  convert<Bf16ToF16>(x, y, n, stream);
}
void u8_to_f32(const uint8_t* x, float* y, int64_t n, cudaStream_t stream) {
  convert<U8ToF32>(x, y, n, stream);
}

}  // namespace lathe::kernels
