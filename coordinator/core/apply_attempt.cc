#include <algorithm>

#include "coordinator/core/apply_internal.h"
#include "coordinator/core/ready.h"
#include "coordinator/core/transitions.h"

namespace gt::apply {

void SetDeadline(ClusterState* s, Attempt* attempt, Millis deadline) {
  if (attempt->deadline != kNever)
    s->timers.erase({.at = attempt->deadline, .kind = Timer::Kind::kAttempt, .uid = attempt->uid});
  attempt->deadline = deadline;
  if (deadline != kNever) s->timers.insert({.at = deadline, .kind = Timer::Kind::kAttempt, .uid = attempt->uid});
}

namespace {
// The task's entry leaves the queue; a task of the range that was never placed gets its record now.
Task& Dequeue(ClusterState* s, Job* job, uint32_t index) {
  TaskId id{job->id, index};
  if (index == job->next_index) {
    Advance(job, 1);
    MoveRest(s, *job, index);
    job->live_tasks.insert(index);
    return s->tasks.emplace(id, Task{.id = id}).first->second;
  }
  RemoveReady(s, *job, index);
  return At(s->tasks, id);
}
}  // namespace

void On(ClusterState* s, const AttemptPlaced& e) {
  Job& job = At(s->jobs, e.attempt.task.job);
  Task& task = Dequeue(s, &job, e.attempt.task.index);
  kTaskTable.Move(&task.state, TaskState::kActive);
  task.attempts = e.attempt.number;
  task.attempt = e.attempt.uid;
  job.counts.queued--;
  job.counts.active++;
  job.max_attempt = std::max(job.max_attempt, e.attempt.number);
  Attempt& attempt = s->attempts.emplace(e.attempt.uid, e.attempt).first->second;
  attempt.deadline = kNever;
  SetDeadline(s, &attempt, e.attempt.deadline);
  for (const Member& member : attempt.members) Take(s, attempt, member);
}

void On(ClusterState* s, const MemberAdvanced& e) {
  Member* member = At(s->attempts, e.uid).FindMember(e.node);
  GT_ASSERT(member != nullptr && !member->gone && e.phase > member->phase && e.phase <= AttemptPhase::kRunning);
  member->phase = e.phase;
}

void On(ClusterState* s, const RendezvousReady& e) {
  Rendezvous& rendezvous = At(s->attempts, e.uid).rendezvous;
  GT_ASSERT(rendezvous.generation == e.generation);
  kRendezvousTable.Move(&rendezvous.state, RendezvousState::kReady);
  rendezvous.addr = e.addr;
  rendezvous.port = e.port;
}

void On(ClusterState* s, const AttemptStarting& e) { kAttemptTable.Move(&At(s->attempts, e.uid).phase, AttemptPhase::kStarting); }

void On(ClusterState* s, const AttemptRunning& e) {
  Attempt& attempt = At(s->attempts, e.uid);
  kAttemptTable.Move(&attempt.phase, AttemptPhase::kRunning);
  attempt.running_wall = e.at_wall;
  SetDeadline(s, &attempt, kNever);
  Job& job = At(s->jobs, attempt.task.job);
  if (job.started_wall == 0) job.started_wall = e.at_wall;
}

void On(ClusterState* s, const AttemptStopping& e) {
  Attempt& attempt = At(s->attempts, e.uid);
  if (attempt.phase != AttemptPhase::kStopping) {
    kAttemptTable.Move(&attempt.phase, AttemptPhase::kStopping);
    attempt.stop_cause = e.cause;
    attempt.stop_grace = e.grace;
  } else {
    attempt.stop_grace = std::min(attempt.stop_grace, e.grace);
  }
  attempt.reform.since_wall = 0;
  attempt.stop_deadline = e.deadline;
  SetDeadline(s, &attempt, e.check_at);
}

void On(ClusterState* s, const StopRechecked& e) { SetDeadline(s, &At(s->attempts, e.uid), e.check_at); }

void On(ClusterState* s, const FailureSeen& e) {
  Attempt& attempt = At(s->attempts, e.uid);
  GT_ASSERT(attempt.failure.cause == Cause::kNone);
  attempt.failure = e.failure;
}

void On(ClusterState* s, const MemberGone& e) {
  Attempt& attempt = At(s->attempts, e.uid);
  Member* member = attempt.FindMember(e.node);
  GT_ASSERT(member != nullptr && !member->gone);
  member->gone = true;
  member->lost = e.lost;
  member->phase = AttemptPhase::kEnded;
  member->exit = e.exit;
  attempt.exit_code = std::max(attempt.exit_code, e.exit_code);
  Release(s, attempt, *member);
}

void On(ClusterState* s, const ProgressMade& e) { At(s->attempts, e.uid).progress = e.progress; }

void On(ClusterState* s, const ExitSkewArmed& e) { SetDeadline(s, &At(s->attempts, e.uid), e.deadline); }

void On(ClusterState* s, const AttemptEnded& e) {
  Attempt& attempt = At(s->attempts, e.uid);
  kAttemptTable.Move(&attempt.phase, AttemptPhase::kEnded);
  if (attempt.rendezvous.state != RendezvousState::kClosed)
    kRendezvousTable.Move(&attempt.rendezvous.state, RendezvousState::kClosed);
  attempt.reform.since_wall = 0;
  attempt.cause = e.cause;
  attempt.message = e.message;
  attempt.charged = e.charged;
  attempt.exit_code = e.exit_code;
  attempt.ended_wall = e.at_wall;
  SetDeadline(s, &attempt, kNever);
  Task& task = At(s->tasks, attempt.task);
  task.cause = e.cause;
  task.message = e.message;
}

}  // namespace gt::apply
