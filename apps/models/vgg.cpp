#include "apps/models/vgg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/runtime/error.h"

namespace lathe {
namespace {

struct Stage {
  int64_t channels;
  int convolutions;
};
// Table 1, column D: 13 convolutions in five stages, each ending in a 2×2 pooling.
constexpr Stage kStages[] = {{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}};

int64_t scaled(int64_t channels, double width) {
  return std::max<int64_t>(1, static_cast<int64_t>(std::floor(static_cast<double>(channels) * width)));
}

Value classic_head(Builder& net, Value x, const VggOptions& options) {
  x = net.flatten(net.adaptive_avg_pool(x, 7, 7));
  net.section("classifier");
  for (int layer = 0; layer < 2; ++layer) {
    x = net.relu(net.linear(x, scaled(4096, options.width), Init::he_fan_in));
    x = net.dropout(x, options.dropout);
  }
  return net.linear(x, options.classes, Init::small);
}

Value linear_head(Builder& net, Value x, const VggOptions& options) {
  x = net.flatten(net.adaptive_avg_pool(x, 1, 1));
  net.section("classifier");
  return net.linear(x, options.classes, Init::small);
}

}  // namespace

Value vgg16(Builder& net, Value images, const VggOptions& options) {
  const Shape& shape = net.graph().type(images).shape;
  if (shape[2] < 32 || shape[3] < 32) {
    throw Error(ExitCode::usage, fmt::format("vgg16 halves the picture five times: {}×{} leaves nothing; use "
                                             "--image-size 32 or more",
                                             shape[2], shape[3]));
  }
  Value x = images;
  net.section("features");
  for (auto [channels, convolutions] : kStages) {
    for (int i = 0; i < convolutions; ++i) {
      x = net.conv2d(x, {.channels = scaled(channels, options.width), .kernel = 3, .padding = 1});
      if (options.batch_norm) x = net.batch_norm(x);
      x = net.relu(x);
    }
    x = net.max_pool(x, {.window = 2, .stride = 2});
  }
  return options.head == Head::classic ? classic_head(net, x, options) : linear_head(net, x, options);
}

}  // namespace lathe
