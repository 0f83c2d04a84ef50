#include <algorithm>

#include "coordinator/core/apply_internal.h"
#include "coordinator/core/policy.h"
#include "coordinator/core/ready.h"
#include "coordinator/core/transitions.h"

namespace gt::apply {

void On(ClusterState* s, const JobSubmitted& e) {
  GT_ASSERT(e.job.id == s->next_job);
  s->next_job.value++;
  Job& job = s->jobs.emplace(e.job.id, e.job).first->second;
  job.counts = {.queued = job.range.size()};
  job.next_index = job.range.first;
  s->keys.emplace(job.client_key, job.id);
  AddReady(s, job, job.next_index);
}

void On(ClusterState* s, const JobCancelRequested& e) {
  Job& job = At(s->jobs, e.job);
  GT_ASSERT(!job.cancel_requested);
  bool had_rest = job.HasUnplaced();
  job.cancel_requested = true;
  job.cancel_reason = e.reason;
  if (!had_rest) return;
  MoveRest(s, job, job.next_index);
  s->sweeping.insert(job.id);
}

uint32_t Advance(Job* job, uint32_t count) {
  uint32_t skipped = 0;
  for (; count > 0; --count) skipped += static_cast<uint32_t>(job->skipped.erase(job->next_index++));
  while (job->skipped.erase(job->next_index) == 1) ++job->next_index;
  return skipped;
}

void On(ClusterState* s, const IndexCancelled& e) {
  Job& job = At(s->jobs, e.task.job);
  GT_ASSERT(job.HasUnplaced() && e.task.index >= job.next_index && e.task.index <= job.range.last);
  GT_ASSERT(job.skipped.insert(e.task.index).second);
  s->tasks.emplace(e.task, Task{.id = e.task, .state = TaskState::kCancelled, .cause = Cause::kCancelled, .message = "cancelled"});
  job.counts.queued--;
  job.counts.cancelled++;
  if (e.task.index != job.next_index) return;
  Advance(&job, 0);
  MoveRest(s, job, e.task.index);
}

void On(ClusterState* s, const UnplacedCancelled& e) {
  Job& job = At(s->jobs, e.job);
  GT_ASSERT(job.cancel_requested && e.count <= job.range.last - job.next_index + 1);
  uint32_t cancelled = e.count - Advance(&job, e.count);
  job.counts.queued -= cancelled;
  job.counts.cancelled += cancelled;
  if (job.cause == Cause::kNone) job.cause = Cause::kCancelled;
  if (job.next_index > job.range.last) s->sweeping.erase(job.id);
}

void On(ClusterState* s, const TaskRequeued& e) {
  Task& task = At(s->tasks, e.task);
  Job& job = At(s->jobs, e.task.job);
  kTaskTable.Move(&task.state, TaskState::kQueued);
  job.counts.active--;
  job.counts.queued++;
  task.attempt = {};
  task.avoid = e.avoid;
  if (e.charged == Budget::kUser) task.user_failures++;
  while (!task.infra_failures_wall.empty() && task.infra_failures_wall.front() < e.at_wall - kInfraWindow)
    task.infra_failures_wall.pop_front();
  if (e.charged == Budget::kInfra) task.infra_failures_wall.push_back(e.at_wall);
  task.not_before_wall = e.not_before_wall;
  task.not_before = e.not_before;
  if (e.not_before == 0) {
    AddReady(s, job, e.task.index);
  } else {
    s->timers.insert({.at = e.not_before, .kind = Timer::Kind::kTask, .task = e.task});
  }
}

void On(ClusterState* s, const TaskReady& e) {
  Task& task = At(s->tasks, e.task);
  GT_ASSERT(task.state == TaskState::kQueued && task.not_before != 0);
  s->timers.erase({.at = task.not_before, .kind = Timer::Kind::kTask, .task = e.task});
  task.not_before = task.not_before_wall = 0;
  AddReady(s, At(s->jobs, e.task.job), e.task.index);
}

void On(ClusterState* s, const TaskFinished& e) {
  Task& task = At(s->tasks, e.task);
  Job& job = At(s->jobs, e.task.job);
  if (task.state == TaskState::kQueued) {  // cancelled while it waited for a retry
    job.counts.queued--;
    if (task.not_before != 0) {
      s->timers.erase({.at = task.not_before, .kind = Timer::Kind::kTask, .task = e.task});
    } else {
      RemoveReady(s, job, e.task.index);
    }
    task.not_before = task.not_before_wall = 0;
  } else {
    job.counts.active--;
  }
  kTaskTable.Move(&task.state, e.state);
  task.attempt = {};
  task.cause = e.cause;
  task.message = e.message;
  job.live_tasks.erase(e.task.index);
  if (e.state == TaskState::kSucceeded) job.counts.succeeded++;
  if (e.state == TaskState::kFailed) job.counts.failed++;
  if (e.state == TaskState::kCancelled) job.counts.cancelled++;
  bool first_failure = e.state == TaskState::kFailed && job.counts.failed == 1;
  if (first_failure || job.counts.failed == 0) {
    job.cause = e.cause;
    job.message = e.message;
  }
  job.exit_code = std::max(job.exit_code, e.exit_code);
}

void On(ClusterState* s, const JobFinished& e) {
  Job& job = At(s->jobs, e.job);
  GT_ASSERT(job.counts.queued == 0 && job.counts.active == 0 && job.ended_wall == 0);
  job.ended_wall = e.at_wall;
}

void On(ClusterState* s, const CheckpointAccepted& e) {
  Task& task = At(s->tasks, e.task);
  task.checkpoint = e.path;
  task.checkpoint_step = e.step;
}

}  // namespace gt::apply
