// Learning-rate schedules: PyTorch's values (golden/schedules.py), the warm-up, and the edges of a run.
#include "apps/training/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "engine/runtime/error.h"

namespace lathe {
namespace {

constexpr auto kKinds = {ScheduleKind::constant, ScheduleKind::step, ScheduleKind::cosine,
                         ScheduleKind::onecycle};

void expect_rates(const Schedule& schedule, int64_t updates_per_epoch, const std::vector<double>& rates) {
  auto total = static_cast<int64_t>(rates.size());
  for (int64_t u = 0; u < total; ++u)
    EXPECT_NEAR(learning_rate(schedule, {u, updates_per_epoch, total}), rates[u], 1e-8 + 1e-7 * rates[u])
        << u;
}

TEST(Schedule, ConstantStaysAtThePeak) {
  expect_rates({.kind = ScheduleKind::constant, .peak = 0.25}, 2, std::vector<double>(7, 0.25));
}

TEST(Schedule, StepIsPyTorchsStepLR) {
  // Two updates an epoch, a drop every two epochs.
  expect_rates({.kind = ScheduleKind::step, .peak = 0.1, .step_epochs = 2, .gamma = 0.5}, 2,
               {0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05, 0.025, 0.025});
}

TEST(Schedule, CosineIsPyTorchsCosineAnnealingLR) {
  expect_rates({.kind = ScheduleKind::cosine, .peak = 0.1}, 5,
               {0.1, 0.0975528258, 0.0904508497, 0.0793892626, 0.0654508497, 0.05, 0.0345491503, 0.0206107374,
                0.00954915028, 0.00244717419});
}

TEST(Schedule, OnecycleIsPyTorchsOneCycleLR) {
  std::vector<double> rates = {0.004,        0.0131671843, 0.0371671843, 0.0668328157,  0.0908328157,
                               0.1,          0.0987464006, 0.0950484632, 0.0890916178,  0.0811745654,
                               0.0716943002, 0.0611262022, 0.0500002,    0.0388741978,  0.0283060998,
                               0.0188258346, 0.0109087822, 0.0049519368, 0.00125399938, 4e-07};
  expect_rates({.kind = ScheduleKind::onecycle, .peak = 0.1}, 5, rates);
  expect_rates({.kind = ScheduleKind::onecycle, .peak = 0.1, .warmup_epochs = 3}, 5, rates);  // its own rise
}

TEST(Schedule, WarmupRisesLinearlyOverAFractionOfAnEpoch) {
  // 0.5 epochs of 8 updates: 4 updates.
  Schedule schedule{.kind = ScheduleKind::constant, .peak = 0.8, .warmup_epochs = 0.5};
  expect_rates(schedule, 8, {0.2, 0.4, 0.6, 0.8, 0.8, 0.8});
  schedule.warmup_epochs = 0.3125;  // 2.5 updates
  expect_rates(schedule, 8, {0.32, 0.64, 0.8, 0.8});
  // The cosine starts where the rise ends: update 4 of 8 is the peak, update 6 half of it.
  expect_rates(
      {.kind = ScheduleKind::cosine, .peak = 0.8, .warmup_epochs = 1}, 4,
      {0.2, 0.4, 0.6, 0.8, 0.8, 0.8 * (1 + std::sqrt(0.5)) / 2, 0.4, 0.8 * (1 - std::sqrt(0.5)) / 2});
}

TEST(Schedule, WarmupLongerThanTheRunOnlyRises) {
  expect_rates({.kind = ScheduleKind::cosine, .peak = 1, .warmup_epochs = 10}, 1, {0.1, 0.2, 0.3});
}

TEST(Schedule, IsAFunctionOfThePositionAlone) {
  // Resuming asks for the same positions in another order and process; past the end the last rate stays.
  for (ScheduleKind kind : kKinds) {
    Schedule schedule{.kind = kind, .peak = 0.1, .warmup_epochs = 1, .step_epochs = 1};
    double before = learning_rate(schedule, {7, 3, 12});
    learning_rate(schedule, {2, 3, 12});
    EXPECT_EQ(learning_rate(schedule, {7, 3, 12}), before);
    EXPECT_EQ(learning_rate(schedule, {12, 3, 12}), learning_rate(schedule, {11, 3, 12}));
    EXPECT_EQ(learning_rate(schedule, {1000, 3, 12}), learning_rate(schedule, {11, 3, 12}));
  }
}

TEST(Schedule, IsNeverNegativeNorAboveThePeakNorNotANumber) {
  for (ScheduleKind kind : kKinds) {
    for (int64_t total : {1, 2, 3, 4, 5, 7, 10, 33}) {
      for (double warmup : {0.0, 0.01, 0.5, 1.0, 3.7, 100.0}) {
        for (int64_t u = 0; u <= total; ++u) {
          double rate = learning_rate({.kind = kind, .peak = 0.1, .warmup_epochs = warmup}, {u, 4, total});
          EXPECT_TRUE(rate >= 0 && rate <= 0.1)
              << rate << " at " << u << " of " << total << ", warm-up " << warmup;
        }
      }
    }
  }
}

TEST(Schedule, RefusesARunWithoutUpdatesAndNumbersThatAreNone) {
  Schedule schedule;
  EXPECT_THROW(learning_rate(schedule, {0, 1, 0}), Error);
  EXPECT_THROW(learning_rate(schedule, {0, 0, 1}), Error);
  EXPECT_THROW(learning_rate(schedule, {-1, 1, 1}), Error);
  schedule.peak = -0.1;
  EXPECT_THROW(learning_rate(schedule, {0, 1, 1}), Error);
  schedule.peak = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(learning_rate(schedule, {0, 1, 1}), Error);
}

}  // namespace
}  // namespace lathe
