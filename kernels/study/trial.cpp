// Running a trial: arrays between guard cells, the launch, the comparison.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <new>

#include "kernels/study/study.h"
#include "kernels/unsupported.h"

namespace lathe::study {
namespace {

constexpr int64_t kGuard = 256;  // bytes before and after an array; a multiple of every alignment
constexpr unsigned char kGuardByte = 0xa5;

template <typename T>
void write(std::byte* to, double value) {
  const T element(static_cast<T>(value));
  std::memcpy(to, &element, sizeof element);
}

void store(Element element, std::byte* to, double value) {
  switch (element) {
    case Element::fp32:
      return write<float>(to, value);
    case Element::fp16:
      return write<__half>(to, value);
    case Element::bf16:
      return write<__nv_bfloat16>(to, value);
    case Element::fp64:
      return write<double>(to, value);
    case Element::int32:
      return write<int32_t>(to, value);
    case Element::int64:
      return write<int64_t>(to, value);
    case Element::uint8:
      return write<uint8_t>(to, value);
  }
}

template <typename T>
double read(const std::byte* from) {
  T element;
  std::memcpy(&element, from, sizeof element);
  return static_cast<double>(static_cast<float>(element));
}

double load(Element element, const std::byte* from) {
  switch (element) {
    case Element::fp32:
      return read<float>(from);
    case Element::fp16:
      return read<__half>(from);
    case Element::bf16:
      return read<__nv_bfloat16>(from);
    case Element::fp64: {
      double value;
      std::memcpy(&value, from, sizeof value);
      return value;
    }
    case Element::int32: {
      int32_t value;
      std::memcpy(&value, from, sizeof value);
      return value;
    }
    case Element::int64: {
      int64_t value;
      std::memcpy(&value, from, sizeof value);
      return static_cast<double>(value);
    }
    case Element::uint8:
      return static_cast<double>(std::to_integer<unsigned char>(*from));
  }
  return 0;
}

int64_t data_bytes(const Array& array) {
  return static_cast<int64_t>(array.before.size()) * bytes_of(array.element);
}
int64_t first_byte(const Array& array) { return kGuard + array.shift * bytes_of(array.element); }
int64_t total_bytes(const Array& array) { return first_byte(array) + data_bytes(array) + kGuard; }

std::vector<std::byte> image_of(const Array& array) {
  std::vector<std::byte> image(static_cast<size_t>(total_bytes(array)), std::byte{kGuardByte});
  std::byte* to = image.data() + first_byte(array);
  for (double value : array.before) store(array.element, to, value), to += bytes_of(array.element);
  return image;
}

bool differs(double got, double expected, double tolerance) {
  if (std::isnan(expected)) return !std::isnan(got);
  if (got == expected) return false;
  return !(std::abs(got - expected) <= tolerance * std::max(1.0, std::abs(expected)));
}

// Where the memory of an array is not what it has to be; "" where it is.
std::string compare(const Array& array, const std::vector<std::byte>& image) {
  const std::vector<std::byte> start = image_of(array);
  const auto begin = static_cast<size_t>(first_byte(array)),
             end = begin + static_cast<size_t>(data_bytes(array));
  for (size_t i = 0; i < image.size(); ++i) {
    if ((i >= begin && i < end) || image[i] == start[i]) continue;
    const auto size = static_cast<size_t>(bytes_of(array.element));
    return i < begin ? fmt::format("{}: wrote {} bytes before its first element", array.name, begin - i)
                     : fmt::format("{}: wrote behind its end, at element {} of {}", array.name,
                                   (i - begin) / size, array.before.size());
  }
  if (array.scratch) return "";
  const int64_t size = bytes_of(array.element);
  size_t wrong = 0, first = 0;
  for (size_t i = 0; i < array.before.size(); ++i) {
    const std::byte* at = image.data() + begin + i * static_cast<size_t>(size);
    bool bad = array.expected.empty() ? std::memcmp(at, start.data() + begin + i * static_cast<size_t>(size),
                                                    static_cast<size_t>(size)) != 0
                                      : differs(load(array.element, at), array.expected[i], array.tolerance);
    if (bad && wrong++ == 0) first = i;
  }
  if (wrong == 0) return "";
  const double got = load(array.element, image.data() + begin + first * static_cast<size_t>(size));
  return fmt::format("{}: {} of {} elements differ, first [{}]: {:.9g} instead of {:.9g}", array.name, wrong,
                     array.before.size(), first, got,
                     array.expected.empty() ? array.before[first] : array.expected[first]);
}

}  // namespace

Arrays::Arrays(const Trial& trial) : trial_(trial) {
  for (const Array& array : trial.arrays) {
    const std::vector<std::byte> image = image_of(array);
    void* memory = nullptr;
    if (cudaMalloc(&memory, image.size()) != cudaSuccess) {
      for (void* earlier : memory_) cudaFree(earlier);
      throw std::bad_alloc();
    }
    memory_.push_back(memory);
    pointers_.push_back(static_cast<std::byte*>(memory) + first_byte(array));
    cudaMemcpy(memory, image.data(), image.size(), cudaMemcpyHostToDevice);
  }
}

Arrays::~Arrays() {
  for (void* memory : memory_) cudaFree(memory);
}

std::string Arrays::check() const {
  for (size_t i = 0; i < trial_.arrays.size(); ++i) {
    const Array& array = trial_.arrays[i];
    std::vector<std::byte> image(static_cast<size_t>(total_bytes(array)));
    cudaError_t error = cudaMemcpy(image.data(), memory_[i], image.size(), cudaMemcpyDeviceToHost);
    if (error != cudaSuccess) return cudaGetErrorString(error);
    if (std::string wrong = compare(array, image); !wrong.empty()) return wrong;
  }
  return "";
}

std::string run_trial(const Trial& trial) {
  Arrays arrays(trial);
  try {
    trial.launch(arrays.pointers(), nullptr);
  } catch (const kernels::Unsupported& refusal) {
    return refusal.what();
  }
  cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) error = cudaDeviceSynchronize();
  return error != cudaSuccess ? cudaGetErrorString(error) : arrays.check();
}

}  // namespace lathe::study
