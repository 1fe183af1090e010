// Draws the scene of a built-in picture by lot. Colours overlap between classes and with the background on
// purpose: green, yellow and red apples, green bananas, brown tables. What tells fruits apart is shape; what
// tells rotten from fresh is dark patches, wrinkles and a dull, mottled skin.
#include "datasets/fruit_scene.h"

#include <algorithm>
#include <cmath>

namespace lathe {
namespace {

constexpr float kPi = 3.14159265f;

// Hue in degrees, saturation and value 0 … 1.
Colour hsv(float hue, float saturation, float value) {
  const auto channel = [&](float n) {
    const float k = std::fmod(n + hue / 60 + 6, 6.0f);
    return value - value * saturation * std::clamp(std::min(k, 4 - k), 0.0f, 1.0f);
  };
  return {channel(5), channel(3), channel(1)};
}

Colour any_colour(Random& random) {
  return hsv(random.uniform(0, 360), random.uniform(0.05f, 0.7f), random.uniform(0.2f, 0.95f));
}

// The colours that fruits have: reds, oranges, yellows, greens and browns.
Colour fruit_like_colour(Random& random) {
  return hsv(random.uniform(-10, 100), random.uniform(0.5f, 0.95f), random.uniform(0.3f, 0.95f));
}

Clutter draw_clutter(Random& random, float x, float y, float radius) {
  const float angle = random.uniform(0, 2 * kPi);
  return {static_cast<Clutter::Kind>(random.below(4)),
          x,
          y,
          radius,
          random.uniform(0.35f, 1),
          std::cos(angle),
          std::sin(angle),
          random.chance(0.6f) ? fruit_like_colour(random) : any_colour(random)};
}

void draw_background(Scene& scene, Random& random) {
  scene.texture = static_cast<Scene::Texture>(random.below(5));
  scene.ground[0] = random.chance(0.5f) ? any_colour(random) : fruit_like_colour(random);
  scene.ground[1] = any_colour(random);
  const float mix = random.uniform(0.15f, 0.65f);  // keeps the two from always being in full contrast
  const auto blend = [&](float a, float b) { return a + (b - a) * mix; };
  scene.ground[1] = {blend(scene.ground[0].red, scene.ground[1].red),
                     blend(scene.ground[0].green, scene.ground[1].green),
                     blend(scene.ground[0].blue, scene.ground[1].blue)};
  scene.ground_frequency = random.uniform(1.5f, 5);
  const float angle = random.uniform(0, kPi);
  scene.ground_cosine = std::cos(angle), scene.ground_sine = std::sin(angle);
  for (uint64_t i = 0, count = 1 + random.below(3); i < count; ++i) {
    const float x = random.uniform(-1, 1), y = random.uniform(-1, 1);
    scene.behind.push_back(draw_clutter(random, x, y, random.uniform(0.15f, 0.5f)));
  }
}

void draw_skin(Scene& scene, Random& random) {
  scene.blush_amount = 0;
  switch (scene.kind) {
    case FruitKind::apple: {
      const uint64_t sort = random.below(6);  // red, green, yellow, or (most) two-coloured
      const float hue = sort == 0   ? random.uniform(-12, 12)
                        : sort == 1 ? random.uniform(70, 105)
                        : sort == 2 ? random.uniform(42, 62)
                                    : random.uniform(35, 80);
      scene.skin = hsv(hue, random.uniform(0.65f, 0.9f), random.uniform(0.65f, 0.95f));
      scene.blush = hsv(random.uniform(-10, 10), 0.85f, random.uniform(0.6f, 0.9f));
      scene.blush_amount = sort >= 3 ? random.uniform(0.6f, 1) : random.uniform(0, 0.3f);
      break;
    }
    case FruitKind::banana:
      scene.skin = hsv(random.uniform(40, 64), random.uniform(0.6f, 0.9f), random.uniform(0.75f, 1));
      scene.blush = hsv(random.uniform(65, 95), 0.7f, random.uniform(0.6f, 0.85f));
      scene.blush_amount = random.chance(0.35f) ? random.uniform(0.5f, 1) : random.uniform(0, 0.3f);
      break;
    case FruitKind::orange:
      scene.skin = hsv(random.uniform(18, 40), random.uniform(0.8f, 0.95f), random.uniform(0.75f, 1));
      scene.blush = hsv(random.uniform(50, 90), 0.75f, random.uniform(0.6f, 0.85f));
      scene.blush_amount = random.chance(0.15f) ? random.uniform(0.5f, 1) : random.uniform(0, 0.2f);
      break;
  }
}

// A place on the skin, well inside the outline.
Patch patch_on(const Scene& scene, Random& random, float reach) {
  Patch patch{};
  if (scene.kind == FruitKind::banana) {  // (along, across)
    patch.x = random.uniform(-0.85f, 0.85f), patch.y = random.uniform(-0.25f, 0.25f);
  } else {
    const float distance = reach * std::sqrt(random.uniform()), angle = random.uniform(0, 2 * kPi);
    patch.x = distance * std::cos(angle), patch.y = distance * std::sin(angle);
  }
  return patch;
}

void draw_age(Scene& scene, bool rotten, Random& random) {
  scene.gloss = rotten ? random.uniform(0, 0.25f) : random.uniform(0.1f, 0.6f);
  scene.wrinkles = rotten ? random.uniform(0.3f, 0.8f) : 0;
  scene.mottling = rotten ? random.uniform(0.4f, 0.7f) : random.uniform(0, 0.2f);
  if (rotten) {
    const uint64_t count = 2 + random.below(3) + (scene.kind == FruitKind::banana ? 2 : 0);
    for (uint64_t i = 0; i < count; ++i) {
      Patch patch = patch_on(scene, random, 0.6f);
      patch.radius = random.uniform(0.2f, 0.36f);
      patch.colour = hsv(random.uniform(12, 36), random.uniform(0.5f, 0.8f), random.uniform(0.1f, 0.32f));
      patch.strength = random.uniform(0.8f, 1);
      scene.patches.push_back(patch);
    }
    if (random.chance(0.3f)) {  // mould grows on the first patch
      Patch mould = scene.patches.front();
      mould.radius *= random.uniform(0.4f, 0.7f);
      mould.colour = hsv(random.uniform(90, 200), random.uniform(0.05f, 0.3f), random.uniform(0.65f, 0.9f));
      scene.patches.push_back(mould);
    }
    const float dull = random.uniform(0.05f, 0.2f);  // towards a grayish brown
    for (Colour* colour : {&scene.skin, &scene.blush}) {
      colour->red += (0.45f - colour->red) * dull;
      colour->green += (0.36f - colour->green) * dull;
      colour->blue += (0.22f - colour->blue) * dull;
    }
  }
  // Specks and bruises, on fresh fruit too: small or faint.
  for (uint64_t i = 0, count = random.below(4); i < count; ++i) {
    Patch speck = patch_on(scene, random, 0.8f);
    const bool bruise = random.chance(0.4f);
    speck.radius = bruise ? random.uniform(0.15f, 0.3f) : random.uniform(0.04f, 0.1f);
    speck.colour = hsv(random.uniform(15, 40), 0.6f, random.uniform(0.15f, 0.45f));
    speck.strength = bruise ? random.uniform(0.1f, 0.3f) : random.uniform(0.5f, 0.9f);
    scene.patches.push_back(speck);
  }
}

}  // namespace

Scene draw_scene(FruitKind kind, bool rotten, Random& random) {
  Scene scene{};
  scene.kind = kind;
  scene.seed = static_cast<uint32_t>(random.bits());
  draw_background(scene, random);

  const bool banana = kind == FruitKind::banana;
  scene.radius = banana ? random.uniform(0.75f, 1.0f) : random.uniform(0.58f, 0.88f);
  const float room = 1.05f - scene.radius;  // the fruit may leave the picture a little
  scene.x = random.uniform(-room, room), scene.y = random.uniform(-room, room);
  const float tilt = kind == FruitKind::apple ? random.uniform(-0.6f, 0.6f) : random.uniform(-kPi, kPi);
  scene.cosine = std::cos(tilt), scene.sine = std::sin(tilt);
  scene.aspect = banana                     ? random.uniform(0.24f, 0.34f)
                 : kind == FruitKind::apple ? random.uniform(1.0f, 1.15f)
                                            : random.uniform(0.97f, 1.03f);
  scene.bend = random.uniform(0.7f, 1.15f);
  scene.stem = random.chance(0.95f), scene.leaf = random.chance(0.3f);
  draw_skin(scene, random);
  draw_age(scene, rotten, random);

  if (random.chance(0.15f)) {  // something stands in front of the edge
    const float angle = random.uniform(0, 2 * kPi), distance = scene.radius * random.uniform(0.9f, 1.2f);
    scene.in_front.push_back(draw_clutter(random, scene.x + distance * std::cos(angle),
                                          scene.y + distance * std::sin(angle),
                                          scene.radius * random.uniform(0.3f, 0.5f)));
  }

  const float azimuth = random.uniform(0, 2 * kPi), height = random.uniform(0.5f, 1);
  const float flat = std::sqrt(1 - height * height);
  scene.light = {flat * std::cos(azimuth), flat * std::sin(azimuth), height};
  scene.brightness = random.uniform(0.8f, 1.2f);
  scene.cast = {random.uniform(0.82f, 1.12f), random.uniform(0.88f, 1.08f), random.uniform(0.78f, 1.15f)};
  scene.shadow = random.uniform(0.2f, 0.5f);
  scene.noise = random.uniform(0.005f, 0.02f);
  return scene;
}

}  // namespace lathe
