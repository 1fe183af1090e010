// A device array for tests: filled from a vector, read back as one.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::vector<T> values) : values_(std::move(values)) {
    EXPECT_EQ(cudaMalloc(&data_, values_.size() * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data_, values_.data(), values_.size() * sizeof(T), cudaMemcpyHostToDevice),
              cudaSuccess);
  }
  explicit DeviceArray(size_t count) : DeviceArray(std::vector<T>(count)) {}
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }
  T* data() { return data_; }
  std::vector<T> host() {
    EXPECT_EQ(cudaMemcpy(values_.data(), data_, values_.size() * sizeof(T), cudaMemcpyDeviceToHost),
              cudaSuccess);
    return values_;
  }

 private:
  std::vector<T> values_;
  T* data_ = nullptr;
};
