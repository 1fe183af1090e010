// What a tensor is before it has memory: element type, shape, layout.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace lathe {

enum class DType : uint8_t { f32, f16, bf16, u8, i32, i64 };
int64_t size_of(DType dtype);  // bytes
std::string to_string(DType dtype);

// How the elements of an N,C,H,W tensor lie in memory. Shapes are written N,C,H,W whatever the layout;
// a tensor of another rank is always row-major, which is also what nchw means.
// nchw8c and nchw16c are oneDNN's blocked layouts, [N, C/b, H, W, b]; C must be a multiple of b.
enum class Layout : uint8_t { nchw, nhwc, nchw8c, nchw16c };
std::string to_string(Layout layout);

// Extents, outermost first. Rank 0 is a scalar.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}
  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  int64_t operator[](int64_t axis) const { return dims_.at(axis); }
  const std::vector<int64_t>& dims() const { return dims_; }
  // Product of the extents. Throws Error(usage) past 2^62, so that no size ever wraps.
  int64_t elements() const;
  bool operator==(const Shape&) const = default;

 private:
  std::vector<int64_t> dims_;
};
std::string to_string(const Shape& shape);  // "[128, 64, 32, 32]"

struct Type {
  DType dtype = DType::f32;
  Shape shape;
  Layout layout = Layout::nchw;
  int64_t bytes() const { return shape.elements() * size_of(dtype); }
  bool operator==(const Type&) const = default;
};
std::string to_string(const Type& type);  // "f32[128, 64, 32, 32] nchw16c"

// Every layout of an N,C,H,W tensor is the dense array [outer, channel_blocks, spatial, block]:
// nchw has block 1, nhwc one block of C, nchw16c blocks of 16. Channel = channel_block · block + lane.
// Kernels written against this view serve all layouts. Rank 2 counts as spatial = 1.
struct ChannelView {
  int64_t samples, channel_blocks, spatial, block;
  int64_t channels() const { return channel_blocks * block; }
};
ChannelView channel_view(const Type& type);  // rank ≥ 2, axis 1 is the channel

}  // namespace lathe
