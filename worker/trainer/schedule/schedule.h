// The learning rate as a function of samples seen, not of steps, so that it means the same at any number of ranks. A new
// schedule is one function and one line in schedule.cc's table.
#pragma once
#include <cstdint>

#include "common/base/status.h"
#include "worker/trainer/spec.h"

namespace gt::trainer {

// Where one optimizer step lies in the whole training, in samples over all ranks and epochs.
struct StepSpan {
  int64_t before = 0, after = 0;  // seen before it, and with it
  int64_t total = 0;              // of the whole training
};

// Refuses an unknown schedule by name, and one without what it needs.
Status CheckSchedule(const OptimizerSpec& optimizer);

// The rate of one step. The warm-up rises to the full rate at the step that ends with sample `warmup_samples`, and
// multiplies what the schedule says meanwhile.
double LearningRate(const OptimizerSpec& optimizer, const StepSpan& step);

}  // namespace gt::trainer
