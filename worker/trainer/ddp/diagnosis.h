// What to tell people when a step cannot go on: what was seen, and what to try.
#pragma once
#include <optional>
#include <string>

#include "common/base/status.h"
#include "worker/trainer/metrics/memory.h"
#include "worker/trainer/spec.h"

namespace gt::trainer {

// A step whose numbers are not finite.
struct BadNumbers {
  int64_t step = 0;  // the first is 1
  double loss = 0;
  std::optional<double> gradient_norm;  // where it was measured
  double last_loss = 0;                 // of the step before; meaningless at the first step
  double learning_rate = 0;
  int64_t skipped_in_a_row = 0;
};
Status ExplainBadNumbers(const Spec& spec, const BadNumbers& seen);

// kResourceExhausted, with the sizes and what to try, where `status` is what the library says when memory ran out; any
// other status as it is.
Status ExplainFailure(const Spec& spec, int64_t step, const ProcessMemory& memory, const Status& status);

}  // namespace gt::trainer
