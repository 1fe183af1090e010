// An invented run for the report's tests, and for looking at the page.
#pragma once

#include <cmath>

#include "apps/report/train_report.h"

namespace lathe {

inline Picture noise_picture(int64_t height, int64_t width) {
  Picture picture(height, width);
  uint32_t state = 1;
  for (uint8_t& byte : picture.rgb) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<uint8_t>(state >> 24);
  }
  return picture;
}

// A disc on a shaded ground.
inline Picture disc_picture(int64_t side, int variant) {
  Picture picture(side, side);
  const double centre_x = side * (0.4 + 0.04 * (variant % 5)),
               centre_y = side * (0.45 + 0.03 * (variant % 4));
  for (int64_t y = 0; y < side; ++y) {
    for (int64_t x = 0; x < side; ++x) {
      const bool inside = std::hypot(x - centre_x, y - centre_y) < 0.33 * side;
      uint8_t* p = picture.pixel(y, x);
      p[0] = static_cast<uint8_t>(inside ? 190 + 20 * (variant % 3) : 70 + y * 60 / side);
      p[1] = static_cast<uint8_t>(inside ? 40 + 30 * (variant % 6) : 90 + x * 50 / side);
      p[2] = static_cast<uint8_t>(inside ? 40 : 110 + 5 * (variant % 8));
    }
  }
  return picture;
}

inline TrainReport sample_report() {
  TrainReport report;
  report.title = "VGG16 on fruit (synthetic, built in)";
  report.folder = "runs/train/7";
  report.started = "2026-01-31T12:00:00Z";
  report.arguments.command_line = {"lathe", "train",       "--data", "fruit:size=32", "--epochs",
                                   "12",    "--precision", "fp16",   "--capture",     "on"};
  report.arguments.options = {{"data", "fruit:size=32", "flag"},
                              {"epochs", "12", "flag"},
                              {"precision", "fp16", "flag"},
                              {"lr", "0.05", "preset"},
                              {"batch-size", "64", "config"},
                              {"momentum", "0.9", "default"},
                              {"weight-decay", "0.0005", "default"},
                              {"schedule", "cosine", "default"},
                              {"seed", "7", "default"}};
  report.arguments.machine = {
      {"processor", "An invented processor"}, {"logical cores", "16"}, {"memory", "128.0 GiB"}};
  report.arguments.versions = {{"lathe", "0.1.0"}, {"compiler", "12.2.0"}, {"oneDNN", "2.6.0"}};
  report.seed = 7;
  report.switches = {{"kernels", "library", "library", ""}, {"precision", "fp16", "fp16", ""},
                     {"layout", "nhwc", "nhwc", ""},        {"fusion", "on", "on", ""},
                     {"memory", "plan", "plan", ""},        {"capture", "on", "off", "batch size varies"}};
  const double nan = std::nan("");
  for (int e = 1; e <= 12; ++e) {
    const double t = e / 12.0;
    report.epochs.push_back(
        {.epoch = e,
         .time_s = 3.1 * e,
         .train_loss = 0.06 + 1.5 * std::exp(-4 * t),
         .train_top1 = 1 - 0.62 * std::exp(-4 * t),
         .val_loss = e == 5 ? nan : 0.14 + 1.2 * std::exp(-4.2 * t) + (e > 9 ? 0.015 * (e - 9) : 0),
         .val_top1 = e == 5 ? nan : 0.964 - 0.5 * std::exp(-4.5 * t) - (e > 9 ? 0.004 * (e - 9) : 0),
         .lr = 0.025 * (1 + std::cos(3.14159 * (t - 1.0 / 12))),
         .img_s = 4700 + 60.0 * (e % 4),
         .data_wait_ms = 0.8});
  }
  report.best_epoch = 9;
  report.target_top1 = 0.92;
  report.classes = {"fresh apple",  "fresh banana",  "fresh orange",
                    "rotten apple", "rotten banana", "rotten orange"};
  ConfusionMatrix matrix(6);
  const int64_t counts[6][6] = {{53, 0, 1, 2, 0, 0}, {0, 54, 0, 0, 0, 0}, {1, 0, 52, 0, 0, 1},
                                {3, 0, 0, 52, 1, 0}, {0, 1, 0, 0, 54, 0}, {0, 0, 2, 0, 0, 52}};
  for (int t = 0; t < 6; ++t) {
    for (int p = 0; p < 6; ++p) {
      for (int64_t n = 0; n < counts[t][p]; ++n) matrix.add(t, p);
    }
  }
  report.confusion = matrix;
  std::vector<float> confidence;
  std::vector<uint8_t> correct;
  for (int i = 0; i < 329; ++i) {
    confidence.push_back(1.0F - 0.6F * static_cast<float>(i) * static_cast<float>(i) / (329.0F * 329.0F));
    correct.push_back(i % 23 != 11 || i < 60 ? 1 : 0);
  }
  report.calibration = calibrate(confidence, correct);
  report.time = {.compute_s = 29.4, .data_wait_s = 2.1, .evaluation_s = 3.6, .saving_s = 1.1, .other_s = 0.4};
  report.memory = {.planned = 2254857830, .lower_bound = 2147483648, .measured = 2263900160};
  for (int i = 0; i < 12; ++i) report.augmented.push_back({disc_picture(32, i), report.classes[i % 6]});
  for (int i = 0; i < 12; ++i) {
    report.mistakes.push_back({disc_picture(224, i * 5 + 2),
                               "val/rotten apple/" + std::to_string(100 + i) + ".png",
                               report.classes[3 + i % 3], report.classes[i % 3], 0.98 - 0.04 * i});
  }
  report.data = {{"source", "fruit: procedural pictures, synthetic"},
                 {"training pictures", "1182 in 6 classes"},
                 {"validation pictures", "329"},
                 {"damaged files", "0"},
                 {"shared between the splits", "0"},
                 {"imbalance", "1.9 (largest class against smallest)"}};
  report.data_warnings = {"class \"rotten banana\" has 103 pictures, the largest has 196"};
  report.hashes = {
      {"training data sha256", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},
      {"weights sha256", "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"}};
  return report;
}

}  // namespace lathe
