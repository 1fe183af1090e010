// Paints the scene of a built-in picture. Each pixel that an object may touch averages 2x2 points, which
// smooths the edges; the background is smooth by construction and is computed once a pixel.
#include <algorithm>
#include <cmath>

#include "datasets/fruit_scene.h"

namespace lathe {
namespace {

Colour operator*(Colour a, float s) { return {a.red * s, a.green * s, a.blue * s}; }
Colour operator*(Colour a, Colour b) { return {a.red * b.red, a.green * b.green, a.blue * b.blue}; }
Colour operator+(Colour a, Colour b) { return {a.red + b.red, a.green + b.green, a.blue + b.blue}; }
Colour blend(Colour a, Colour b, float amount) { return a * (1 - amount) + b * amount; }
float smooth(float t) { return t * t * (3 - 2 * t); }
float ramp(float from, float to, float x) { return smooth(std::clamp((x - from) / (to - from), 0.0f, 1.0f)); }

uint32_t hash(int32_t x, int32_t y, uint32_t seed) {
  uint32_t h = static_cast<uint32_t>(x) * 0x8da6b343u ^ static_cast<uint32_t>(y) * 0xd8163841u ^ seed;
  h = (h ^ (h >> 15)) * 0x2c1b3c6du;
  h = (h ^ (h >> 12)) * 0x297a2d39u;
  return h ^ (h >> 15);
}

// Value noise: random numbers 0 … 1 on the integer lattice, smoothly interpolated.
float noise(float x, float y, uint32_t seed) {
  const float fx = std::floor(x), fy = std::floor(y);
  const auto ix = static_cast<int32_t>(fx), iy = static_cast<int32_t>(fy);
  const auto at = [&](int32_t dx, int32_t dy) {
    return static_cast<float>(hash(ix + dx, iy + dy, seed) >> 8) * 0x1p-24f;
  };
  const float u = smooth(x - fx), v = smooth(y - fy);
  const float top = at(0, 0) + (at(1, 0) - at(0, 0)) * u;
  const float bottom = at(0, 1) + (at(1, 1) - at(0, 1)) * u;
  return top + (bottom - top) * v;
}

float rough_noise(float x, float y, uint32_t seed) {
  return (2 * noise(x, y, seed) + noise(2.1f * x, 2.1f * y, seed + 1)) / 3;
}

// A triangle wave 0 … 1 with softened corners.
float wave(float x) {
  const float t = x - std::floor(x);
  return smooth(std::clamp(1.5f * std::abs(2 * t - 1) - 0.25f, 0.0f, 1.0f));
}

Colour background(const Scene& scene, float x, float y) {
  const float u = scene.ground_frequency * (x * scene.ground_cosine + y * scene.ground_sine);
  const float v = scene.ground_frequency * (y * scene.ground_cosine - x * scene.ground_sine);
  float amount = 0;
  switch (scene.texture) {
    case Scene::Texture::plain:
      amount = std::clamp(0.5f + 0.2f * u, 0.0f, 1.0f);
      break;
    case Scene::Texture::stripes:
      amount = wave(0.6f * u);
      break;
    case Scene::Texture::checks: {
      const float a = wave(0.5f * u), b = wave(0.5f * v);
      amount = a + b - 2 * a * b;
      break;
    }
    case Scene::Texture::wood:
      amount = wave(0.5f * u + 1.5f * noise(0.3f * u, 1.2f * v, scene.seed));
      break;
    case Scene::Texture::blotches:
      amount = ramp(0.3f, 0.7f, rough_noise(u, v, scene.seed));
      break;
  }
  return blend(scene.ground[0], scene.ground[1], amount) *
         (0.9f + 0.2f * noise(9 * x, 9 * y, scene.seed + 2));
}

// The shape is there where this is positive.
bool covers(const Clutter& shape, float x, float y) {
  const float dx = x - shape.x, dy = y - shape.y;
  if (dx * dx + dy * dy > shape.radius * shape.radius) return false;
  const float u = (dx * shape.cosine + dy * shape.sine) / shape.radius;
  const float v = (dy * shape.cosine - dx * shape.sine) / (shape.radius * shape.aspect);
  switch (shape.kind) {
    case Clutter::Kind::ellipse:
      return u * u + v * v < 1;
    case Clutter::Kind::box:
      return std::max(std::abs(u), std::abs(v)) < 0.7f;
    case Clutter::Kind::ring:
      return u * u + v * v < 1 && u * u + v * v > 0.4f;
    case Clutter::Kind::leaf:
      return std::abs(v) < 0.6f * (1 - u * u);
  }
  return false;
}

// A point of the fruit's surface, as the camera sees it.
struct Surface {
  bool inside = false;
  float nx = 0, ny = 0;         // the normal's part in the picture plane, in the fruit's coordinates
  float along = 0, across = 0;  // where textures are looked up
  float dark = 0;               // banana: how far into the dark tips
};

Surface round_surface(const Scene& scene, float u, float v) {
  u /= scene.aspect;
  Surface surface{.along = u, .across = v};
  if (scene.kind == FruitKind::apple) {  // dimples above and below, narrower towards the bottom
    u *= 1 + 0.2f * v;
    v += (v < 0 ? -0.8f : 0.25f) * v * v / (1 + 12 * u * u);
    v *= 1.08f;
  }
  surface.inside = u * u + v * v < 1;
  surface.nx = u, surface.ny = v;
  return surface;
}

Surface banana_surface(const Scene& scene, float u, float v) {
  // The axis is an arc of half angle `bend` and half chord 1, whose middle is the origin.
  const float arc = 1 / std::sin(scene.bend);
  const float dx = u, dy = v + arc * (1 + std::cos(scene.bend)) / 2;
  const float distance = std::sqrt(dx * dx + dy * dy);
  const float along = std::atan2(dx, dy) / scene.bend;  // -1 … 1 between the tips
  Surface surface{.along = along};
  const float t = std::abs(along);
  if (t > 1.12f) return surface;
  const bool stub = along > 0.9f;  // the stalk
  const float width = scene.aspect * (stub ? 0.3f : std::sqrt(std::max(0.0f, 1 - 0.94f * t * t * t * t)));
  surface.across = (distance - arc) / width;
  surface.inside = std::abs(surface.across) < 1 && (stub || t < 1);
  // Bananas have flat sides: the normal turns in steps.
  const float faceted = 0.6f * surface.across + 0.4f * std::round(2 * surface.across) / 2;
  surface.nx = faceted * dx / distance, surface.ny = faceted * dy / distance;
  surface.dark = stub ? ramp(1.0f, 1.12f, t) : ramp(0.86f, 0.97f, t);
  return surface;
}

Colour skin_colour(const Scene& scene, const Surface& at) {
  const bool banana = scene.kind == FruitKind::banana;
  const float u = at.along * (banana ? 2.5f : 1.0f), v = at.across * (banana ? 0.6f : 1.0f);
  const float coarse = rough_noise(3 * u + 7, 3 * v + 7, scene.seed + 3);
  const float fine = noise(11 * u, 11 * v, scene.seed + 5);
  const float towards = banana ? std::abs(at.along) : 0.5f + 0.5f * at.across;
  const float blush = scene.blush_amount * ramp(0.25f, 0.8f, towards + 0.5f * (coarse - 0.5f));
  Colour colour = blend(scene.skin, scene.blush, blush);
  colour = colour * (1 + scene.mottling * (0.9f * (coarse - 0.5f) + 0.5f * (fine - 0.5f)));
  if (scene.wrinkles > 0) {
    const float crease = std::abs(noise(5 * u, 5 * v, scene.seed + 6) - 0.5f);
    colour = colour * (1 - 0.55f * scene.wrinkles * (1 - ramp(0, 0.07f, crease)));
  }
  for (const Patch& patch : scene.patches) {
    const float dx = (at.along - patch.x) * (banana ? 1.6f : 1.0f),
                dy = (at.across - patch.y) * (banana ? 0.5f : 1.0f);
    const float distance = std::sqrt(dx * dx + dy * dy) / patch.radius + 0.9f * (coarse - 0.5f);
    if (distance < 1) {
      const float cover = patch.strength * (1 - ramp(0.7f, 1, distance));
      colour = blend(colour, patch.colour * (0.75f + 0.5f * fine), cover);
    }
  }
  return blend(colour, {0.17f, 0.11f, 0.05f}, 0.85f * at.dark);
}

// The stalk and leaf of an apple, the navel of an orange. Returns whether they cover (u,v).
bool trimmings(const Scene& scene, float u, float v, Colour& colour) {
  if (scene.kind == FruitKind::apple) {
    const float lean = u - 0.25f * (v + 0.7f) * (v + 0.7f);
    if (scene.stem && v > -1.15f && v < -0.52f && std::abs(lean) < 0.09f) {
      colour = {0.3f, 0.2f, 0.1f};
      return true;
    }
    const float lu = (u - 0.38f) * 0.9f + (v + 0.95f) * 0.4f, lv = (v + 0.95f) * 0.9f - (u - 0.38f) * 0.4f;
    if (scene.leaf && std::abs(lv) < 0.17f * (1 - (lu / 0.36f) * (lu / 0.36f))) {
      colour = std::abs(lv) < 0.02f ? Colour{0.45f, 0.6f, 0.25f} : Colour{0.2f, 0.45f, 0.12f};
      return true;
    }
  } else if (scene.kind == FruitKind::orange && scene.stem) {
    const float du = u - 0.25f, dv = v + 0.35f;
    if (du * du + dv * dv < 0.011f) {
      colour = {0.35f, 0.4f, 0.15f};
      return true;
    }
  }
  return false;
}

// Draws the fruit over colour where it covers (x,y).
void paint_fruit(const Scene& scene, float x, float y, Colour& colour) {
  const float dx = (x - scene.x) / scene.radius, dy = (y - scene.y) / scene.radius;
  if (dx * dx + dy * dy > 2.0f) return;
  const float u = dx * scene.cosine + dy * scene.sine, v = dy * scene.cosine - dx * scene.sine;

  const bool banana = scene.kind == FruitKind::banana;
  const Surface at = banana ? banana_surface(scene, u, v) : round_surface(scene, u, v);
  Colour trimming;
  if (trimmings(scene, u, v, trimming)) {
    colour = trimming * scene.brightness;
    return;
  }
  if (!at.inside) return;
  float nx = at.nx * scene.cosine - at.ny * scene.sine, ny = at.nx * scene.sine + at.ny * scene.cosine;
  if (scene.kind == FruitKind::orange) {  // pores
    nx += 0.35f * (noise(16 * u, 16 * v, scene.seed + 8) - 0.5f);
    ny += 0.35f * (noise(16 * u, 16 * v, scene.seed + 9) - 0.5f);
  }
  const float nz = std::sqrt(std::max(0.02f, 1 - nx * nx - ny * ny));
  const float facing = std::max(0.0f, nx * scene.light[0] + ny * scene.light[1] + nz * scene.light[2]);
  // Blinn's highlight: the half vector between the lamp and the camera, which looks along -z.
  const float half = std::sqrt(2 + 2 * scene.light[2]);
  const float shine = (facing + nz) / half;
  const float highlight = scene.gloss * std::pow(std::clamp(shine, 0.0f, 1.0f), 40.0f);
  const float rim = 0.75f + 0.25f * nz;
  colour = skin_colour(scene, at) * (scene.brightness * rim * (0.42f + 0.65f * facing)) +
           Colour{highlight, highlight, highlight};
}

// How dark the fruit's shadow is at (x,y): a soft disc, moved away from the lamp.
float shadow_at(const Scene& scene, float x, float y) {
  const float dx = (x - scene.x + 0.3f * scene.radius * scene.light[0]) / scene.radius;
  const float dy = (y - scene.y + 0.3f * scene.radius * scene.light[1]) / scene.radius;
  return scene.shadow * (1 - ramp(0.5f, 1.25f, std::sqrt(dx * dx + dy * dy)));
}

}  // namespace

Picture paint(const Scene& scene, int64_t size) {
  Picture picture(size, size);
  const float pixel = 2 / static_cast<float>(size);
  for (int64_t row = 0; row < size; ++row) {
    for (int64_t column = 0; column < size; ++column) {
      const float x = (static_cast<float>(column) + 0.5f) * pixel - 1;
      const float y = (static_cast<float>(row) + 0.5f) * pixel - 1;
      const Colour ground = background(scene, x, y);
      const float dimmed = scene.brightness * (1 - shadow_at(scene, x, y));
      Colour sum{0, 0, 0};
      for (int corner = 0; corner < 4; ++corner) {
        const float sx = x + ((corner & 1) != 0 ? 0.25f : -0.25f) * pixel;
        const float sy = y + ((corner & 2) != 0 ? 0.25f : -0.25f) * pixel;
        Colour colour = ground * dimmed;
        for (const Clutter& shape : scene.behind) {
          if (covers(shape, sx, sy)) colour = shape.colour * dimmed;
        }
        paint_fruit(scene, sx, sy, colour);
        for (const Clutter& shape : scene.in_front) {
          if (covers(shape, sx, sy)) colour = shape.colour * scene.brightness;
        }
        sum = sum + colour * 0.25f;
      }
      sum = sum * scene.cast;
      uint8_t* out = picture.pixel(row, column);
      for (float channel : {sum.red, sum.green, sum.blue}) {
        // Two uniform numbers make a triangular one, which is close enough to a sensor's noise.
        const uint32_t draw = hash(static_cast<int32_t>(column), static_cast<int32_t>(row),
                                   scene.seed + 16 + static_cast<uint32_t>(out - picture.rgb.data()) % 3);
        const float grain = static_cast<float>((draw & 0xffff) + (draw >> 16)) * 0x1p-16f - 1;
        *out++ =
            static_cast<uint8_t>(std::clamp(255 * (channel + 2 * scene.noise * grain) + 0.5f, 0.0f, 255.0f));
      }
    }
  }
  return picture;
}

}  // namespace lathe
