#include "engine/graph/types.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/runtime/error.h"

namespace lathe {

int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return 1;
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::i64:
      return 8;
  }
  throw std::logic_error("size_of: unknown dtype");
}

std::string to_string(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::u8:
      return "u8";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
  }
  throw std::logic_error("to_string: unknown dtype");
}

std::string to_string(Layout layout) {
  switch (layout) {
    case Layout::nchw:
      return "nchw";
    case Layout::nhwc:
      return "nhwc";
    case Layout::nchw8c:
      return "nchw8c";
    case Layout::nchw16c:
      return "nchw16c";
  }
  throw std::logic_error("to_string: unknown layout");
}

int64_t Shape::elements() const {
  constexpr int64_t kMost = int64_t{1} << 62;
  int64_t count = 1;
  for (int64_t dim : dims_) {
    if (dim < 0) throw Error(ExitCode::usage, "shape " + to_string(*this) + " has a negative extent");
    if (dim == 0) return 0;
    if (count > kMost / dim) throw Error(ExitCode::usage, "shape " + to_string(*this) + " is too large");
    count *= dim;
  }
  return count;
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape.dims(), ", ")); }

std::string to_string(const Type& type) {
  std::string text = to_string(type.dtype) + to_string(type.shape);
  return type.layout == Layout::nchw ? text : text + " " + to_string(type.layout);
}

ChannelView channel_view(const Type& type) {
  const Shape& shape = type.shape;
  if (shape.rank() < 2) throw std::logic_error("channel_view: rank " + std::to_string(shape.rank()));
  int64_t spatial = 1;
  for (int64_t axis = 2; axis < shape.rank(); ++axis) spatial *= shape[axis];
  int64_t channels = shape[1];
  int64_t block = 1;
  if (type.layout == Layout::nhwc) block = channels;
  if (type.layout == Layout::nchw8c) block = 8;
  if (type.layout == Layout::nchw16c) block = 16;
  if (channels % block != 0) throw std::logic_error("channel_view: " + to_string(type));
  return {shape[0], channels / block, spatial, block};
}

}  // namespace lathe
