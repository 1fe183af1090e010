// Device arrays and launches for the tests of the examination.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "hostcuda/hostcuda.h"
#include "hostcuda/portable/launch.h"
#include "hostcuda/trace/trace.h"

namespace hostcuda::trace {

template <typename T>
class Device {
 public:
  explicit Device(size_t n) : size_(n) {
    EXPECT_EQ(cudaMalloc(&data_, n * sizeof(T)), cudaSuccess);
    cudaMemset(data_, 0, n * sizeof(T));
  }
  explicit Device(const std::vector<T>& values) : Device(values.size()) {
    cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
  }
  ~Device() { cudaFree(data_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  operator T*() const { return data_; }
  size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  size_t size_;
};

class Traced : public ::testing::Test {
 protected:
  void TearDown() override { reset_for_tests(); }

  // Traces what `work` launches: one kernel with one grid.
  template <typename Work>
  static KernelTrace trace(Work work) {
    begin();
    work();
    std::vector<KernelTrace> traces = end();
    EXPECT_EQ(traces.size(), 1u);
    return traces.empty() ? KernelTrace() : traces[0];
  }
  static std::string kinds(const KernelTrace& trace) {
    std::string text;
    for (const Finding& finding : trace.findings)
      text += (text.empty() ? "" : ", ") + std::string(name_of(finding.kind));
    return text;
  }
};

}  // namespace hostcuda::trace
