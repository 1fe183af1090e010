// VGG16 in its variants (Simonyan & Zisserman 2014, configuration D), named as torchvision names it.
#pragma once

#include "layers/builder.h"

namespace lathe {

enum class Head : uint8_t {
  classic,  // adaptive 7×7 pooling, 4096-4096-classes with dropout
  linear,   // global average pooling and one layer
};

struct VggOptions {
  bool batch_norm = true;
  Head head = Head::linear;
  double width = 1.0;  // multiplies channels and hidden units, rounded down, at least 1
  int64_t classes = 10;
  double dropout = 0.5;  // classic head only
};

// images: [N, 3, H, W], H and W at least 32 → logits [N, classes].
// Throws Error(usage) where the picture is too small for five poolings.
Value vgg16(Builder& net, Value images, const VggOptions& options);

}  // namespace lathe
