// Separable resampling with a triangle filter; see resize.h.
#include "datasets/resize.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "engine/runtime/error.h"

namespace lathe {
namespace {

// The inputs of one output position along one axis: weights of first, first+1, … that sum to 1.
struct Taps {
  int64_t first;
  std::vector<float> weights;
};

std::vector<Taps> triangle_taps(double begin, double end, int64_t inputs, int64_t outputs) {
  const double scale = (end - begin) / static_cast<double>(outputs);
  const double support = std::max(scale, 1.0);
  std::vector<Taps> taps(outputs);
  for (int64_t i = 0; i < outputs; ++i) {
    const double center = begin + (static_cast<double>(i) + 0.5) * scale;
    const int64_t first = std::max<int64_t>(0, std::llround(std::floor(center - support + 0.5)));
    const int64_t last = std::min<int64_t>(inputs, std::llround(std::floor(center + support + 0.5)));
    double sum = 0;
    std::vector<double> weights;
    for (int64_t x = first; x < last; ++x) {
      weights.push_back(std::max(0.0, 1 - std::abs(static_cast<double>(x) + 0.5 - center) / support));
      sum += weights.back();
    }
    taps[i].first = first;
    for (double weight : weights) taps[i].weights.push_back(static_cast<float>(weight / sum));
  }
  return taps;
}

void refuse_too_large(int64_t height, int64_t width, const Picture& from) {
  if (height <= kMaxPixels / width) return;
  throw Error(ExitCode::data, "a picture of " + std::to_string(from.width) + "x" +
                                  std::to_string(from.height) + " would be resized to " +
                                  std::to_string(width) + "x" + std::to_string(height) +
                                  ", over the limit of 64 million pixels");
}

}  // namespace

Picture resize(const Picture& picture, const Box& box, int64_t height, int64_t width) {
  refuse_too_large(height, width, picture);
  const std::vector<Taps> columns = triangle_taps(box.x0, box.x1, picture.width, width);
  const std::vector<Taps> rows = triangle_taps(box.y0, box.y1, picture.height, height);
  const int64_t first_row = rows.front().first;
  const int64_t last_row = rows.back().first + static_cast<int64_t>(rows.back().weights.size());

  std::vector<float> narrow((last_row - first_row) * width * 3);  // [rows that are read, width, 3]
  for (int64_t y = first_row; y < last_row; ++y) {
    float* out = narrow.data() + (y - first_row) * width * 3;
    for (const Taps& taps : columns) {
      const uint8_t* in = picture.pixel(y, taps.first);
      float red = 0, green = 0, blue = 0;
      for (float weight : taps.weights) {
        red += weight * static_cast<float>(in[0]);
        green += weight * static_cast<float>(in[1]);
        blue += weight * static_cast<float>(in[2]);
        in += 3;
      }
      *out++ = red, *out++ = green, *out++ = blue;
    }
  }

  Picture result(height, width);
  std::vector<float> sums(width * 3);
  for (int64_t y = 0; y < height; ++y) {
    std::fill(sums.begin(), sums.end(), 0.5f);  // rounds to nearest below
    const float* in = narrow.data() + (rows[y].first - first_row) * width * 3;
    for (float weight : rows[y].weights) {
      for (int64_t i = 0; i < width * 3; ++i) sums[i] += weight * in[i];
      in += width * 3;
    }
    uint8_t* out = result.pixel(y, 0);
    for (int64_t i = 0; i < width * 3; ++i) out[i] = static_cast<uint8_t>(std::clamp(sums[i], 0.0f, 255.0f));
  }
  return result;
}

Picture resize(const Picture& picture, int64_t height, int64_t width) {
  if (height == picture.height && width == picture.width) return picture;
  const Box whole{0, 0, static_cast<double>(picture.width), static_cast<double>(picture.height)};
  return resize(picture, whole, height, width);
}

Picture fit_square(const Picture& picture, int64_t size, Fit fit) {
  const int64_t shorter = std::min(picture.height, picture.width);
  const int64_t longer = std::max(picture.height, picture.width);
  if (shorter == longer || fit == Fit::stretch) return resize(picture, size, size);
  if (fit == Fit::crop) {
    refuse_too_large(size * picture.height / shorter, size * picture.width / shorter, picture);
    const double side = static_cast<double>(shorter);
    const double x0 = (static_cast<double>(picture.width) - side) / 2;
    const double y0 = (static_cast<double>(picture.height) - side) / 2;
    return resize(picture, Box{x0, y0, x0 + side, y0 + side}, size, size);
  }
  const auto scaled = [&](int64_t side) { return std::max<int64_t>(1, (side * size + longer / 2) / longer); };
  const Picture inner = resize(picture, scaled(picture.height), scaled(picture.width));
  Picture result(size, size);
  const int64_t top = (size - inner.height) / 2, left = (size - inner.width) / 2;
  for (int64_t y = 0; y < inner.height; ++y) {
    std::copy_n(inner.pixel(y, 0), inner.width * 3, result.pixel(top + y, left));
  }
  return result;
}

}  // namespace lathe
