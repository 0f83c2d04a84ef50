// What is due by the clock.
#include <algorithm>

#include "coordinator/core/decide.h"
#include "coordinator/core/reform.h"

namespace gt {
namespace {

std::string NodesNotYet(const Turn& turn, const Attempt& attempt, AttemptPhase phase) {
  std::string names;
  for (const Member& member : attempt.members) {
    if (member.phase >= phase) continue;
    const Node* node = turn.state.FindNode(member.node);
    names += (names.empty() ? "" : ", ") + (node == nullptr ? "?" : node->name);
  }
  return names;
}

void OnStopDue(Turn& turn, const Uid& uid) {
  SettleIfDone(turn, uid);
  const Attempt* attempt = turn.state.FindAttempt(uid);
  if (attempt->phase != AttemptPhase::kStopping) return;
  if (turn.now.mono >= attempt->stop_deadline) return EndOverdue(turn, uid);
  turn.emit(StopRechecked{uid, std::min(attempt->stop_deadline, turn.now.mono + turn.policy.beat)});
}

void OnAttemptDue(Turn& turn, const Uid& uid) {
  const Attempt& attempt = *turn.state.FindAttempt(uid);
  switch (attempt.phase) {
    case AttemptPhase::kPlaced:
    case AttemptPhase::kStarting: {
      bool forming = attempt.members.size() > 1 && attempt.rendezvous.state == RendezvousState::kForming;
      Cause cause = forming ? Cause::kRendezvousTimeout : Cause::kLaunchFailed;
      return Fail(turn, uid, {.cause = cause, .message = "did not start in time on " + NodesNotYet(turn, attempt, AttemptPhase::kRunning)});
    }
    case AttemptPhase::kRunning:
      if (attempt.reform.underway()) return Fail(turn, uid, ReformOverdue(turn, attempt));
      return Fail(turn, uid, {.cause = Cause::kHung, .message = "some nodes are done, still running on " + NodesNotYet(turn, attempt, AttemptPhase::kEnded)});
    case AttemptPhase::kStopping: return OnStopDue(turn, uid);
    case AttemptPhase::kEnded: return;
  }
}

// How many nodes are not lost, and how many of these are silent: counted once a turn, when first asked for.
class Silence {
 public:
  bool OfMost(const Turn& turn) {
    if (!counted_) Count(turn);
    return silent_ >= 3 && silent_ * 2 > up_;
  }
  void OneLost() {
    if (counted_) --up_, --silent_;
  }

 private:
  void Count(const Turn& turn) {
    counted_ = true;
    for (const auto& [id, node] : turn.state.nodes) {
      if (node.state == NodeState::kLost) continue;
      ++up_;
      if (IsSuspect(node, turn.policy, turn.now)) ++silent_;
    }
  }
  bool counted_ = false;
  size_t up_ = 0, silent_ = 0;
};

// When most nodes vanish at once the fault is more likely here or between: the verdict waits, with a bound.
void OnLeaseDue(Turn& turn, NodeId id, Silence* silence) {
  const Node& node = *turn.state.FindNode(id);
  Millis lost_at = node.last_heard + turn.policy.node_lost_after;
  if (turn.now.mono < lost_at) return turn.emit(NodeLeaseRearmed{id, lost_at});
  if (turn.now.mono < lost_at + turn.policy.mass_loss_hold && silence->OfMost(turn))
    return turn.emit(NodeLeaseRearmed{id, turn.now.mono + turn.policy.beat});
  if (std::optional<uint64_t> session = turn.sessions->SessionOf(id)) turn.sessions->End(*session);
  turn.emit(NodeLost{id, turn.now.mono - node.last_heard});
  silence->OneLost();
  std::set<Uid> held = node.held;
  for (const Uid& uid : held) {
    if (turn.state.FindAttempt(uid)->phase == AttemptPhase::kEnded) {
      turn.emit(MemberGone{.uid = uid, .node = id, .lost = true});
    } else {
      LoseMember(turn, uid, id, "was lost");
    }
  }
}

void Sweep(Turn& turn, uint32_t* left) {
  std::set<JobId> sweeping = turn.state.sweeping;
  for (JobId id : sweeping) {
    if (*left == 0) return;
    const Job& job = *turn.state.FindJob(id);
    uint32_t count = std::min(*left, job.range.last - job.next_index + 1);
    *left -= count;
    turn.emit(UnplacedCancelled{id, count, turn.now.wall});
    FinishJobIfDone(turn, id);
  }
}

}  // namespace

void Expire(Turn& turn) {
  uint32_t left = turn.policy.sweep_batch;
  Silence silence;
  while (left > 0 && !turn.state.timers.empty() && turn.state.timers.begin()->at <= turn.now.mono) {
    Timer timer = *turn.state.timers.begin();
    --left;
    switch (timer.kind) {
      case Timer::Kind::kAttempt: OnAttemptDue(turn, timer.uid); break;
      case Timer::Kind::kTask: turn.emit(TaskReady{timer.task}); break;
      case Timer::Kind::kNode: OnLeaseDue(turn, timer.node, &silence); break;
    }
  }
  Sweep(turn, &left);
}

}  // namespace gt
