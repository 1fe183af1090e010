// Weights and checkpoints: safetensors files, read with every check and written as the strictest reader
// wants.
//   u64 header length | JSON header, space-padded to 8 | the tensors' bytes, little-endian, without holes
// Format: https://huggingface.co/docs/safetensors (the Rust crate is the reference for what is valid).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

struct TensorView {
  std::string name;
  std::string dtype;                 // F32, F16, BF16, F64, I64, I32, U8, BOOL, …: see element_bytes
  std::vector<int64_t> shape;        // [] is a scalar
  std::span<const std::byte> bytes;  // row-major, little-endian, at any alignment: read it with memcpy
};

// Bytes of one element of a safetensors dtype; 0 where the dtype is not known.
int64_t element_bytes(std::string_view dtype);

// An open file. It is mapped, not read: a view's bytes live as long as a copy of the object does.
class SafetensorsFile {
 public:
  // Checks the whole header. Error(failure) where the file cannot be read, Error(data) where it is malformed.
  static SafetensorsFile open(const std::filesystem::path& path);

  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // The named tensor; Error(data) naming file and tensor where there is none.
  const TensorView& tensor(const std::string& name) const;

 private:
  std::string path_;
  std::shared_ptr<const std::byte> mapping_;
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

// Atomic (atomic_file.h). Tensors are stored by dtype, widest first, then by name: the file does not depend
// on the order given, and it equals what Python's safetensors writes. Error(failure) for a repeated or
// reserved name, an unknown dtype, bytes that do not match the shape, or a write that fails.
// Tensors that are not in host memory come through `copy`, a few MiB at a time; their `bytes` then only say
// where and how long they are. What it throws leaves the previous file as it was.
using CopyBytes = std::function<void(const TensorView& tensor, size_t offset, std::span<std::byte> out)>;
void write_safetensors(const std::filesystem::path& path, std::vector<TensorView> tensors,
                       const std::map<std::string, std::string>& metadata = {},
                       const CopyBytes& copy = nullptr);

// The values of an F32, F16, BF16 or F64 tensor as floats; Error(data) for another dtype.
std::vector<float> to_floats(const TensorView& tensor);

}  // namespace lathe
