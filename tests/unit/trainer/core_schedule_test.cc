#include <gtest/gtest.h>

#include "worker/trainer/schedule/schedule.h"

namespace gt::trainer {
namespace {

OptimizerSpec With(const ScheduleSpec& schedule) { return {.learning_rate = 0.8, .schedule = schedule}; }

double RateAt(const ScheduleSpec& schedule, int64_t before, int64_t total = 1000) {
  return LearningRate(With(schedule), {.before = before, .after = before + 10, .total = total});
}

TEST(Schedule, ConstantStaysAsItIs) {
  EXPECT_DOUBLE_EQ(RateAt({}, 0), 0.8);
  EXPECT_DOUBLE_EQ(RateAt({}, 990), 0.8);
}

TEST(Schedule, StepFallsAfterSoManySamples) {
  ScheduleSpec step{.name = "step", .step_samples = 100, .gamma = 0.5};
  EXPECT_DOUBLE_EQ(RateAt(step, 0), 0.8);
  EXPECT_DOUBLE_EQ(RateAt(step, 90), 0.8);
  EXPECT_DOUBLE_EQ(RateAt(step, 100), 0.4);
  EXPECT_DOUBLE_EQ(RateAt(step, 250), 0.2);
}

TEST(Schedule, CosineGoesFromTheFullRateToTheLeast) {
  ScheduleSpec cosine{.name = "cosine", .min_lr = 0.2};
  EXPECT_DOUBLE_EQ(RateAt(cosine, 0), 0.8);
  EXPECT_NEAR(RateAt(cosine, 500), 0.5, 1e-12);
  EXPECT_NEAR(RateAt(cosine, 1000), 0.2, 1e-12);
  EXPECT_NEAR(RateAt(cosine, 5000), 0.2, 1e-12);  // a run that is made longer later
  EXPECT_GT(RateAt(cosine, 250), RateAt(cosine, 260));
}

TEST(Schedule, WarmUpRisesInALineUnderAnySchedule) {
  ScheduleSpec constant{.warmup_samples = 100}, cosine{.name = "cosine", .warmup_samples = 100};
  for (const ScheduleSpec& schedule : {constant, cosine}) {
    EXPECT_DOUBLE_EQ(RateAt(schedule, 0), 0.08);  // never 0: the first step too moves
    EXPECT_DOUBLE_EQ(RateAt(schedule, 40), 0.4);
    EXPECT_DOUBLE_EQ(RateAt(schedule, 90), 0.8);
  }
  EXPECT_NEAR(RateAt(cosine, 550), 0.4, 1e-12);  // half way between the warm-up's end and the end
}

// The rate depends on samples only: one rank with steps of 10 sees at a sample what four with steps of 40 see there.
TEST(Schedule, DoesNotDependOnTheSizeOfAStep) {
  OptimizerSpec optimizer = With({.name = "cosine"});
  EXPECT_EQ(LearningRate(optimizer, {.before = 400, .after = 410, .total = 1000}),
            LearningRate(optimizer, {.before = 400, .after = 440, .total = 1000}));
}

TEST(Schedule, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(CheckSchedule(With({.name = "exponential"})).message(),
            "optimizer.schedule.name 'exponential' is not supported; there are: constant, step, cosine");
  EXPECT_FALSE(CheckSchedule(With({.name = "step"})).ok());
  EXPECT_TRUE(CheckSchedule(With({.name = "step", .step_samples = 5})).ok());
}

}  // namespace
}  // namespace gt::trainer
