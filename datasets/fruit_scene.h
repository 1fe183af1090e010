// What is in a built-in picture: a still life with one fruit. Lengths are in half pictures: the picture is
// the square [-1,1] x [-1,1], y points down.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "datasets/picture.h"
#include "datasets/random.h"

namespace lathe {

enum class FruitKind { apple, banana, orange };

struct Colour {
  float red, green, blue;  // 0 … 1
};

// Clutter: a flat shape of one colour.
struct Clutter {
  enum class Kind { ellipse, box, ring, leaf } kind;
  float x, y, radius, aspect, cosine, sine;
  Colour colour;
};

// A mark on the skin, in the fruit's own coordinates (the fruit's radius is 1).
struct Patch {
  float x, y, radius;
  Colour colour;
  float strength;
};

struct Scene {
  enum class Texture { plain, stripes, checks, wood, blotches };

  Texture texture;
  std::array<Colour, 2> ground;
  float ground_frequency, ground_cosine, ground_sine;
  std::vector<Clutter> behind, in_front;

  FruitKind kind;
  float x, y, radius, cosine, sine;
  float aspect;        // width by height of apple and orange; thickness of the banana
  float bend;          // banana: half the angle of its arc, in radians
  Colour skin, blush;  // the skin changes towards blush along the fruit's own axis
  float blush_amount;
  std::vector<Patch> patches;
  float wrinkles, mottling, gloss;
  bool stem, leaf;

  std::array<float, 3> light;  // unit vector towards the lamp
  float brightness;
  Colour cast;
  float shadow, noise;  // darkness of the shadow; amplitude of the sensor noise
  uint32_t seed;        // of all textures
};

// Draws a scene by lot: pose, light, colours, clutter, and the marks of age.
Scene draw_scene(FruitKind kind, bool rotten, Random& random);

// The picture of a scene at size x size.
Picture paint(const Scene& scene, int64_t size);

}  // namespace lathe
