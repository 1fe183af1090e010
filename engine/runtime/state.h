// What lives from step to step: parameters, running statistics, optimiser state. Named tensors on the device,
// shared by every executable that uses them.
#pragma once

#include <cuda_runtime.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/types.h"

namespace lathe {

class State {
 public:
  State() = default;
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Makes room for a tensor, filled with zeros; the same name again must have the same type.
  void add(const std::string& name, const Type& type);
  bool has(const std::string& name) const { return tensors_.count(name) != 0; }
  const Type& type(const std::string& name) const;
  void* data(const std::string& name) const;  // device address
  std::vector<std::string> names() const;     // sorted

  // Synchronous copies between host and device. Sizes must agree.
  void upload(const std::string& name, std::span<const std::byte> bytes);
  std::vector<std::byte> download(const std::string& name) const;
  int64_t bytes() const;  // of all tensors

 private:
  struct Tensor {
    Type type;
    void* data;
  };
  const Tensor& find(const std::string& name) const;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace lathe
