#include "engine/runtime/state.h"

#include <fmt/format.h>

#include "engine/runtime/cuda_check.h"

namespace lathe {

State::~State() {
  for (auto& [name, tensor] : tensors_) cudaFree(tensor.data);
}

void State::add(const std::string& name, const Type& type) {
  auto found = tensors_.find(name);
  if (found != tensors_.end()) {
    if (found->second.type == type) return;
    throw std::logic_error(fmt::format("state {} is {} and was asked for as {}", name,
                                       to_string(found->second.type), to_string(type)));
  }
  void* data = nullptr;
  size_t bytes = static_cast<size_t>(type.bytes());
  check_cuda(cudaMalloc(&data, bytes), fmt::format("no memory for {} ({} bytes)", name, bytes));
  tensors_[name] = {type, data};
  check_cuda(cudaMemset(data, 0, bytes), name);
}

const State::Tensor& State::find(const std::string& name) const {
  auto found = tensors_.find(name);
  if (found == tensors_.end()) throw std::logic_error("no state named " + name);
  return found->second;
}

const Type& State::type(const std::string& name) const { return find(name).type; }
void* State::data(const std::string& name) const { return find(name).data; }

std::vector<std::string> State::names() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors_) names.push_back(name);
  return names;
}

void State::upload(const std::string& name, std::span<const std::byte> bytes) {
  const Tensor& tensor = find(name);
  if (static_cast<int64_t>(bytes.size()) != tensor.type.bytes()) {
    throw std::logic_error(fmt::format("{}: {} bytes for {}", name, bytes.size(), to_string(tensor.type)));
  }
  check_cuda(cudaMemcpy(tensor.data, bytes.data(), bytes.size(), cudaMemcpyHostToDevice), name);
}

std::vector<std::byte> State::download(const std::string& name) const {
  const Tensor& tensor = find(name);
  std::vector<std::byte> bytes(static_cast<size_t>(tensor.type.bytes()));
  check_cuda(cudaMemcpy(bytes.data(), tensor.data, bytes.size(), cudaMemcpyDeviceToHost), name);
  return bytes;
}

int64_t State::bytes() const {
  int64_t total = 0;
  for (const auto& [name, tensor] : tensors_) total += tensor.type.bytes();
  return total;
}

}  // namespace lathe
