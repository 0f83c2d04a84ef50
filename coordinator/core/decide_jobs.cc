// What people ask for: submit, cancel, drain.
#include <algorithm>

#include "coordinator/core/decide.h"
#include "coordinator/core/explain.h"

namespace gt {
namespace {

std::optional<JobId> FindKey(const Turn& turn, const std::string& key) {
  auto live = turn.state.keys.find(key);
  if (live != turn.state.keys.end()) return live->second;
  return turn.finished_key == nullptr || !*turn.finished_key ? std::nullopt : (*turn.finished_key)(key);
}

void CancelTask(Turn& turn, const Job& job, TaskId id) {
  const Task* task = turn.state.FindTask(id);
  if (task == nullptr) return;
  if (task->state == TaskState::kActive) {
    Stop(turn, task->attempt, Cause::kCancelled, job.grace);
  } else if (task->state == TaskState::kQueued) {
    turn.emit(TaskFinished{.task = id, .state = TaskState::kCancelled, .cause = Cause::kCancelled, .message = "cancelled", .at_wall = turn.now.wall});
  }
}

void CancelJob(Turn& turn, JobId id, const Cancel& command) {
  const Job& job = *turn.state.FindJob(id);
  if (!job.cancel_requested) turn.emit(JobCancelRequested{id, command.reason, command.actor});
  std::set<uint32_t> live = job.live_tasks;
  for (uint32_t index : live) CancelTask(turn, job, {id, index});
  if (job.range.size() <= turn.policy.sweep_batch && turn.state.sweeping.contains(id))
    turn.emit(UnplacedCancelled{id, job.range.last - job.next_index + 1, turn.now.wall});
  FinishJobIfDone(turn, id);
}

}  // namespace

SubmitReply DecideSubmit(Turn& turn, SubmitJob& command) {
  SubmitReply reply;
  if (std::optional<JobId> known = FindKey(turn, command.draft.client_key)) {
    reply.job = *known;
    reply.duplicate = true;
    return reply;
  }
  std::string infeasible = Infeasible(turn.state, command.draft.shape);
  if (!infeasible.empty()) (turn.state.nodes.empty() ? reply.warnings : reply.problems).push_back(infeasible);
  if (!reply.problems.empty() || command.dry_run) return reply;
  Job job = std::move(command.draft);
  job.id = reply.job = turn.state.next_job;
  job.submitted_wall = turn.now.wall;
  turn.emit(JobSubmitted{std::move(job)});
  return reply;
}

namespace {
// One task of an array that waits for its first turn.
bool IsUnplaced(const Job& job, uint32_t index) {
  return job.HasUnplaced() && index >= job.next_index && index <= job.range.last && !job.skipped.contains(index);
}

void CancelIndex(Turn& turn, const Job& job, uint32_t index) {
  JobId id = job.id;
  if (IsUnplaced(job, index)) turn.emit(IndexCancelled{{id, index}});
  else CancelTask(turn, job, {id, index});
  FinishJobIfDone(turn, id);
}
}  // namespace

CancelReply DecideCancel(Turn& turn, const Cancel& command) {
  CancelReply reply;
  for (const CancelTarget& target : command.targets) {
    const Job* job = turn.state.FindJob(target.job);
    bool live = job != nullptr && job->ended_wall == 0 && (!target.index || job->live_tasks.contains(*target.index) || IsUnplaced(*job, *target.index));
    reply.outcomes.push_back(live ? CancelReply::Outcome::kAccepted : CancelReply::Outcome::kNotLive);
    if (!live) continue;
    if (target.index && job->range.size() > 1) {
      CancelIndex(turn, *job, *target.index);
    } else {
      CancelJob(turn, target.job, command);
    }
  }
  return reply;
}

DrainReply DecideDrain(Turn& turn, const SetDrain& command) {
  auto found = turn.state.node_names.find(command.node);
  if (found == turn.state.node_names.end())
    return {Status(Code::kNotFound, "no node is called \"" + command.node + "\""), {}};
  turn.emit(NodeDrainSet{found->second, command.drain, command.reason, command.actor});
  return {OkStatus(), found->second};
}

}  // namespace gt
