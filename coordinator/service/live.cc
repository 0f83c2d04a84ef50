#include "coordinator/service/live.h"

#include "coordinator/core/explain.h"
#include "coordinator/store/store.h"

namespace gt {
namespace {

// The attempt whose phase and nodes stand for a job: of its first task that is live and has one.
const Attempt* ShownAttempt(const ClusterState& state, const Job& job, std::optional<uint32_t> index) {
  auto of = [&](uint32_t i) -> const Attempt* {
    const Task* task = state.FindTask({job.id, i});
    return task == nullptr || task->attempt.empty() ? nullptr : state.FindAttempt(task->attempt);
  };
  if (index) return of(*index);
  if (job.array) return nullptr;
  return of(job.range.first);
}

std::string RunningReason(const Job& job, const Attempt& attempt, const ClusterState& state, const Policy& policy, Now now) {
  if (attempt.reform.underway()) return Reason(state, policy, job.id, now, attempt.task.index);
  if (attempt.phase != AttemptPhase::kStopping) return "";
  if (attempt.stop_cause == Cause::kCancelled) return "cancelling" + (job.cancel_reason.empty() ? "" : ": " + job.cancel_reason);
  return "stopping" + (attempt.failure.message.empty() ? "" : ": " + attempt.failure.message);
}

}  // namespace

NodeNames NamesOf(const ClusterState& state) {
  NodeNames names;
  for (const auto& [id, node] : state.nodes) names.emplace(id, node.name);
  return names;
}

NodeNames NamesOf(const ClusterState& state, const Attempt& attempt) {
  NodeNames names;
  for (const Member& member : attempt.members)
    if (const Node* node = state.FindNode(member.node)) names.emplace(member.node, node->name);
  return names;
}

bool LiveSummary(const ClusterState& state, const Policy& policy, Now now, JobId id, std::optional<uint32_t> index, wire::JobSummary* out) {
  const Job* job = state.FindJob(id);
  if (job == nullptr) return false;
  const Attempt* attempt = ShownAttempt(state, *job, index);
  if (index) {
    const Task* task = state.FindTask({id, *index});
    bool never_placed = *index >= job->next_index && *index <= job->range.last && !job->skipped.contains(*index);
    if (task == nullptr && !never_placed) return false;
    FillTaskSummary(*job, *index, task, attempt, out);
  } else {
    FillSummary(*job, out);
  }
  if (attempt != nullptr) FillFromAttempt(*attempt, NamesOf(state, *attempt), out);
  if (out->state() == wire::TASK_QUEUED) out->set_reason(Reason(state, policy, id, now, index));
  if (out->state() == wire::TASK_ACTIVE && attempt != nullptr) out->set_reason(RunningReason(*job, *attempt, state, policy, now));
  if (out->state() == wire::TASK_ACTIVE && attempt == nullptr && out->queued() > 0) out->set_reason(Reason(state, policy, id, now, index));
  return true;
}

}  // namespace gt
