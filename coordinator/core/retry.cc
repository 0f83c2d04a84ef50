#include "coordinator/core/retry.h"

#include <algorithm>

namespace gt {
namespace {

Millis BackOff(const Policy& policy, int32_t failures) {
  Millis wait = policy.retry_backoff;
  for (int32_t i = 0; i < failures && wait < policy.retry_backoff_max; ++i) wait *= 2;
  return std::min(wait, policy.retry_backoff_max);
}

int32_t RecentInfraFailures(const Task& task, Now now) {
  auto recent = [&](Millis at) { return at >= now.wall - kInfraWindow; };
  return static_cast<int32_t>(std::count_if(task.infra_failures_wall.begin(), task.infra_failures_wall.end(), recent));
}

Verdict Charge(Budget budget, int32_t used, int32_t limit, const Policy& policy) {
  if (used >= limit) return {.charged = budget};
  return {.again = true, .charged = budget, .wait = BackOff(policy, used)};
}

}  // namespace

Verdict Judge(const Job& job, const Task& task, Cause cause, const Policy& policy, Now now) {
  if (cause == Cause::kSucceeded) return {.final_state = TaskState::kSucceeded};
  if (cause == Cause::kCancelled || job.cancel_requested) return {.final_state = TaskState::kCancelled};
  if (BudgetOf(cause) == Budget::kFinal || task.attempts >= policy.max_attempts) return {};
  switch (BudgetOf(cause)) {
    case Budget::kUser: return Charge(Budget::kUser, task.user_failures, job.retry.user, policy);
    case Budget::kInfra: return Charge(Budget::kInfra, RecentInfraFailures(task, now), job.retry.infra, policy);
    default: return {.again = true, .charged = Budget::kFree, .wait = policy.retry_backoff};
  }
}

}  // namespace gt
