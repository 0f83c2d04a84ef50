#include <algorithm>

#include "coordinator/core/apply_internal.h"
#include "coordinator/core/load.h"
#include "coordinator/core/ready.h"

namespace gt {
namespace {

// A wait that was stored by the wall clock, on this process's clock. A wall clock that jumped cannot make it longer than
// the longest wait there is.
Millis FromWall(Millis at_wall, Millis longest, Now now) { return now.mono + std::clamp<Millis>(at_wall - now.wall, 1, longest); }

void DeriveNode(ClusterState* state, Node* node, const Policy& policy, Now now) {
  state->node_names[node->name] = node->id;
  node->connected = node->snapshot_complete = false;
  node->stale.clear();
  node->held.clear();
  node->last_heard = now.mono;
  if (node->state == NodeState::kUp) node->state = NodeState::kUnseen;
  node->lease_timer = kNever;
  if (node->state == NodeState::kUnseen) apply::On(state, NodeLeaseRearmed{node->id, now.mono + policy.node_lost_after});
  apply::RecountNode(state, node);
}

void DeriveAttempt(ClusterState* state, Attempt* attempt, const Policy& policy, Now now) {
  attempt->deadline = attempt->stop_deadline = kNever;
  if (attempt->phase == AttemptPhase::kPlaced || attempt->phase == AttemptPhase::kStarting)
    apply::SetDeadline(state, attempt, now.mono + policy.start_timeout);
  if (attempt->phase == AttemptPhase::kStopping) {
    attempt->stop_deadline = now.mono + attempt->stop_grace + policy.stop_margin;
    apply::SetDeadline(state, attempt, std::min(attempt->stop_deadline, now.mono + policy.beat));
  }
  bool some_done = std::any_of(attempt->members.begin(), attempt->members.end(), [](const Member& m) { return m.gone; });
  if (attempt->phase == AttemptPhase::kRunning && some_done) apply::SetDeadline(state, attempt, now.mono + policy.exit_skew);
  if (attempt->reform.underway())
    apply::SetDeadline(state, attempt, now.mono + policy.reform_timeout);
  for (Member& member : attempt->members) member.formation.reset();
  for (const Member& member : attempt->members)
    if (!member.gone) apply::Take(state, *attempt, member);
}

void DeriveTask(ClusterState* state, Task* task, const Policy& policy, Now now) {
  Job& job = apply::At(state->jobs, task->id.job);
  job.live_tasks.insert(task->id.index);
  task->not_before = 0;
  if (task->state != TaskState::kQueued) return;
  if (task->not_before_wall == 0) return AddReady(state, job, task->id.index);
  task->not_before = FromWall(task->not_before_wall, policy.retry_backoff_max, now);
  state->timers.insert({.at = task->not_before, .kind = Timer::Kind::kTask, .task = task->id});
}

}  // namespace

void Derive(ClusterState* state, const Policy& policy, Now now) {
  state->keys.clear();
  state->node_names.clear();
  state->ready.clear();
  state->spare.clear();
  state->timers.clear();
  state->sweeping.clear();
  state->listening_since = now.mono;
  for (auto& [id, node] : state->nodes) DeriveNode(state, &node, policy, now);
  for (auto& [uid, attempt] : state->attempts) DeriveAttempt(state, &attempt, policy, now);
  for (auto& [id, job] : state->jobs) {
    state->keys.emplace(job.client_key, id);
    job.live_tasks.clear();
    if (job.HasUnplaced()) AddReady(state, job, job.next_index);
    if (job.cancel_requested && job.next_index <= job.range.last) state->sweeping.insert(id);
  }
  for (auto& [id, task] : state->tasks) DeriveTask(state, &task, policy, now);
}

}  // namespace gt
