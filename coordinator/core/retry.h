// What happens to a task after an attempt ended: tried again, when, and against which budget; or over.
#pragma once
#include "coordinator/core/model.h"
#include "coordinator/core/policy.h"

namespace gt {

struct Verdict {
  bool again = false;
  Budget charged = Budget::kFree;     // when charged to one
  Millis wait = 0;                    // before the next attempt
  TaskState final_state = TaskState::kFailed;  // when not again
};

// Total: every cause has an answer, and every path costs something (policy.max_attempts at the latest).
// Back-off: base * 2^(failures so far on that budget), at most retry_backoff_max; free retries wait the base.
Verdict Judge(const Job& job, const Task& task, Cause cause, const Policy& policy, Now now);

}  // namespace gt
