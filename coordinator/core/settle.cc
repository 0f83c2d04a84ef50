// How an attempt comes to its end. The cause is settled once every member has confirmed, or is silent past SUSPECT: a
// member that is silent or was rebooted makes it the node's fault though the survivors failed first; otherwise the first
// failure that arrived is the root and later ones are cascades.
#include <algorithm>

#include "coordinator/core/decide.h"
#include "coordinator/core/reform.h"
#include "coordinator/core/retry.h"

namespace gt {
namespace {

// Not gone, and not to be waited for in a broken gang: the node says nothing.
bool IsSilent(const Turn& turn, const Member& member) {
  const Node* node = turn.state.FindNode(member.node);
  return !member.gone && (node == nullptr || IsSuspect(*node, turn.policy, turn.now));
}

bool Broken(const Attempt& attempt) { return attempt.failure.cause != Cause::kNone; }

const Member* LostMember(const Turn& turn, const Attempt& attempt) {
  for (const Member& member : attempt.members)
    if (member.lost || IsSilent(turn, member)) return &member;
  return nullptr;
}

struct Ending {
  Cause cause = Cause::kNone;
  std::string message;
};

Ending SettleCause(const Turn& turn, const Attempt& attempt) {
  if (attempt.stop_cause == Cause::kCancelled) return {Cause::kCancelled, "cancelled"};
  const Member* lost = LostMember(turn, attempt);
  if (lost != nullptr && attempt.failure.cause != Cause::kTimeLimit && attempt.failure.cause != Cause::kNodeLost) {
    const Node* node = turn.state.FindNode(lost->node);
    return {Cause::kNodeLost, (node == nullptr ? "a node" : "node " + node->name) + " was lost; the others failed after it"};
  }
  if (Broken(attempt)) return {attempt.failure.cause, attempt.failure.message};
  if (attempt.stop_cause != Cause::kNone) return {attempt.stop_cause, "stopped"};
  return {Cause::kSucceeded, ""};
}

// The node that a retry avoids.
NodeId Culprit(const Turn& turn, const Attempt& attempt) {
  if (const Member* lost = LostMember(turn, attempt)) return lost->node;
  return attempt.failure.node;
}

// Until when ranks may live on a silent node though the job asked for stop_after: they end by themselves, that long after the
// last beat that was answered, and get their grace. Monotonic; 0: nothing to wait for.
Millis FencedUntil(const Turn& turn, const Attempt& attempt, const Job& job) {
  Millis until = 0;
  if (job.stop_after == 0) return until;
  for (const Member& member : attempt.members) {
    const Node* node = turn.state.FindNode(member.node);
    if (node == nullptr || (member.gone && !member.lost) || !IsSuspect(*node, turn.policy, turn.now)) continue;
    until = std::max(until, node->last_heard + job.stop_after + job.grace + turn.policy.fence_margin);
  }
  return until;
}

// "; processes of it still live on node b", when a stop ran out of time.
std::string StillAlive(const Turn& turn, const Attempt& attempt) {
  std::string names;
  for (const Member& member : attempt.members)
    if (!member.gone && !IsSilent(turn, member)) names += (names.empty() ? "" : ", ") + turn.state.FindNode(member.node)->name;
  return names.empty() ? "" : "; processes of it still live on " + names;
}

// Of the rank that failed first; the others' say only how they were stopped.
int32_t ExitCode(const Attempt& attempt) {
  const Failure& failure = attempt.failure;
  if (failure.signal != 0) return 128 + failure.signal;
  return failure.code != 0 ? failure.code : attempt.exit_code;
}

// ", from the checkpoint of step 40, 10 steps (about 100 samples) are done again"; empty when nothing is known of steps.
std::string Redone(const Attempt& attempt, const Task& task) {
  uint64_t done = attempt.progress.step, kept = task.checkpoint_step;
  if (done <= kept) return "";
  std::string from = task.checkpoint.empty() ? "from the start" : "from the checkpoint of step " + std::to_string(kept);
  auto samples = static_cast<uint64_t>(static_cast<double>(attempt.progress.samples) * static_cast<double>(done - kept) / static_cast<double>(done));
  std::string about = samples == 0 ? "" : " (about " + std::to_string(samples) + " samples)";
  return ", " + from + ", " + std::to_string(done - kept) + " steps" + about + " are done again";
}

void EndAttempt(Turn& turn, const Uid& uid) {
  const Attempt& attempt = *turn.state.FindAttempt(uid);
  Ending ending = SettleCause(turn, attempt);
  NodeId culprit = Culprit(turn, attempt);
  TaskId task_id = attempt.task;
  int32_t exit_code = ExitCode(attempt);
  const Task& task = *turn.state.FindTask(task_id);
  const Job& job = *turn.state.FindJob(task_id.job);
  Verdict verdict = Judge(job, task, ending.cause, turn.policy, turn.now);
  bool charged = BudgetOf(ending.cause) == Budget::kUser || BudgetOf(ending.cause) == Budget::kInfra;
  ending.message += StillAlive(turn, attempt);
  Millis fenced = FencedUntil(turn, attempt, job);
  std::string redone = Redone(attempt, task);
  turn.emit(AttemptEnded{uid, ending.cause, ending.message, charged, exit_code, turn.now.wall});
  if (verdict.again) {
    Millis wait = std::max(verdict.wait, fenced - turn.now.mono);
    turn.emit(TaskRequeued{.task = task_id, .charged = verdict.charged, .avoid = culprit,
                           .not_before_wall = wait == 0 ? 0 : turn.now.wall + wait,
                           .not_before = wait == 0 ? 0 : turn.now.mono + wait, .at_wall = turn.now.wall, .redone = redone});
    return;
  }
  turn.emit(TaskFinished{task_id, verdict.final_state, ending.cause, ending.message, exit_code, turn.now.wall});
  FinishJobIfDone(turn, task_id.job);
}

}  // namespace

bool IsSuspect(const Node& node, const Policy& policy, Now now) {
  return node.state == NodeState::kLost || now.mono - node.last_heard >= policy.suspect_after();
}

void Stop(Turn& turn, const Uid& uid, Cause cause, Millis grace) {
  const Attempt* attempt = turn.state.FindAttempt(uid);
  if (attempt == nullptr || attempt->phase == AttemptPhase::kEnded) return;
  if (attempt->phase == AttemptPhase::kStopping && attempt->stop_grace <= grace) return;
  Millis deadline = turn.now.mono + grace + turn.policy.stop_margin;
  if (attempt->phase == AttemptPhase::kStopping) deadline = std::min(deadline, attempt->stop_deadline);
  // A broken gang is looked at every beat: a member may have fallen silent.
  Millis check_at = attempt->failure.cause == Cause::kNone ? deadline : std::min(deadline, turn.now.mono + turn.policy.beat);
  turn.emit(AttemptStopping{uid, cause, grace, deadline, check_at});
}

void Fail(Turn& turn, const Uid& uid, Failure failure) {
  const Attempt* attempt = turn.state.FindAttempt(uid);
  if (attempt == nullptr || attempt->phase == AttemptPhase::kEnded) return;
  Cause cause = failure.cause;
  // What fails after a requested stop (cancel, preempt) is a consequence of it.
  bool root = attempt->failure.cause == Cause::kNone && attempt->stop_cause == Cause::kNone;
  if (!root) return;
  turn.emit(FailureSeen{uid, std::move(failure)});
  if (!attempt->AllGone()) Stop(turn, uid, cause, turn.policy.fail_grace);
}

void LoseMember(Turn& turn, const Uid& uid, NodeId node, const std::string& why) {
  const Attempt* attempt = turn.state.FindAttempt(uid);
  if (attempt == nullptr) return;
  const Member* member = attempt->FindMember(node);
  if (member == nullptr || member->gone) return;
  if (ReplaceMember(turn, uid, node, why)) return;
  const Node* known = turn.state.FindNode(node);
  std::string name = known == nullptr ? "" : known->name;
  turn.emit(MemberGone{.uid = uid, .node = node, .lost = true});
  Fail(turn, uid, {.cause = Cause::kNodeLost, .node = node, .node_name = name, .message = "node " + name + " " + why});
  SettleIfDone(turn, uid);
}

void SettleIfDone(Turn& turn, const Uid& uid) {
  const Attempt* attempt = turn.state.FindAttempt(uid);
  if (attempt == nullptr || attempt->phase == AttemptPhase::kEnded) return;
  bool done = attempt->AllGone();
  if (!done && Broken(*attempt)) {
    done = std::all_of(attempt->members.begin(), attempt->members.end(),
                       [&](const Member& member) { return member.gone || IsSilent(turn, member); });
  }
  if (done) EndAttempt(turn, uid);
}

void EndOverdue(Turn& turn, const Uid& uid) { EndAttempt(turn, uid); }

void FinishJobIfDone(Turn& turn, JobId id) {
  const Job* job = turn.state.FindJob(id);
  if (job != nullptr && job->ended_wall == 0 && job->counts.queued == 0 && job->counts.active == 0)
    turn.emit(JobFinished{id, turn.now.wall});
}

}  // namespace gt
