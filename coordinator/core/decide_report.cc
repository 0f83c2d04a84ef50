// What a node says of the attempts that it holds. (uid, generation) is the fence: what carries an older one, or a uid that
// nobody wants, changes nothing here and is told to stop there.
#include <algorithm>

#include "coordinator/core/decide.h"
#include "coordinator/core/reform.h"

namespace gt {
namespace {

using Why = ExitReport::Why;

// "rank 3 on node b exited with code 1: cannot open /data/x"
std::string FailureText(const ExitReport& exit, const std::string& node) {
  std::string who = exit.first_failed >= 0 ? "rank " + std::to_string(exit.first_failed) + " on node " + node : "node " + node;
  std::string how;
  if (exit.why == Why::kTimeLimit) how = " ran into its time limit";
  else if (exit.out_of_memory) how = " ran out of memory";
  else if (exit.signal != 0) how = " was killed by signal " + std::to_string(exit.signal);
  else if (exit.why == Why::kRankFailed) how = " exited with code " + std::to_string(exit.code);
  else if (exit.why == Why::kLaunchFailed) how = " could not start it";
  else if (exit.why == Why::kExitSkew) how = " ran on after others were done";
  else how = " ended";
  return who + how + (exit.message.empty() ? "" : ": " + exit.message);
}

// kNone: no failure.
Cause CauseOf(const ExitReport& exit, const Attempt& attempt) {
  switch (exit.why) {
    case Why::kFinished: case Why::kStopped: return Cause::kNone;
    case Why::kLaunchFailed: return Cause::kLaunchFailed;
    case Why::kTimeLimit: return Cause::kTimeLimit;
    case Why::kDisconnected: case Why::kNodeRebooted: return Cause::kNodeLost;
    case Why::kExitSkew: return Cause::kHung;
    case Why::kUnknown: return Cause::kInternal;
    case Why::kRankFailed: break;
  }
  if (exit.out_of_memory) return Cause::kOutOfMemory;
  if (exit.signal != 0) return Cause::kSignaled;
  bool further = attempt.progress.step > attempt.resume_step;
  return exit.code == kExitRunAgain && further ? Cause::kPreempted : Cause::kExitNonzero;
}

// The attempt follows its members. One that is done did run: its last reports may have merged into its end.
void FollowMembers(Turn& turn, const Attempt& attempt) {
  auto reached = [](AttemptPhase phase) { return [phase](const Member& m) { return m.phase >= phase; }; };
  const std::vector<Member>& members = attempt.members;
  if (attempt.phase == AttemptPhase::kPlaced && std::any_of(members.begin(), members.end(), reached(AttemptPhase::kStarting)))
    turn.emit(AttemptStarting{attempt.uid});
  if (attempt.phase == AttemptPhase::kStarting && std::all_of(members.begin(), members.end(), reached(AttemptPhase::kRunning)))
    turn.emit(AttemptRunning{attempt.uid, turn.now.wall});
  bool some_done = std::any_of(members.begin(), members.end(), [](const Member& m) { return m.gone; });
  if (attempt.phase == AttemptPhase::kRunning && some_done && attempt.deadline == kNever)
    turn.emit(ExitSkewArmed{attempt.uid, turn.now.mono + turn.policy.exit_skew});
}

void MemberEnds(Turn& turn, const Attempt& attempt, const Member& member, const AttemptReport& report) {
  ExitReport exit = report.exit.value_or(ExitReport{.message = "the node kept no exit record"});
  NodeId node_id = member.node;
  const std::string& node = turn.state.FindNode(node_id)->name;
  Cause cause = CauseOf(exit, attempt);
  Uid uid = attempt.uid;
  turn.emit(MemberGone{.uid = uid, .node = node_id, .lost = cause == Cause::kNodeLost, .exit = exit.record, .exit_code = exit.exit_code});
  if (cause != Cause::kNone) {
    Fail(turn, uid, {.cause = cause, .rank = exit.first_failed, .node = node_id, .node_name = node, .code = exit.code,
                     .signal = exit.signal, .message = FailureText(exit, node), .tail = exit.tail});
  } else if (!attempt.AllGone()) {
    FollowMembers(turn, attempt);
  }
  SettleIfDone(turn, uid);
}

void MemberAdvances(Turn& turn, const Attempt& attempt, const Member& member, const AttemptReport& report) {
  if (report.phase > member.phase && report.phase <= AttemptPhase::kRunning)
    turn.emit(MemberAdvanced{attempt.uid, member.node, report.phase});
  FollowMembers(turn, attempt);
}

void Live(Turn& turn, const Attempt& attempt, const Member& member, const AttemptReport& report) {
  // Only the first time: a generation that replaces one meets at a rank that has the state.
  bool leads = attempt.members.front().node == member.node && attempt.rendezvous.generation.value == 1;
  if (leads && attempt.rendezvous.state == RendezvousState::kForming && report.endpoint_port != 0 && !report.endpoint_addr.empty() &&
      attempt.phase < AttemptPhase::kStopping)
    turn.emit(RendezvousReady{attempt.uid, attempt.rendezvous.generation, report.endpoint_addr, report.endpoint_port});
  if (report.progress) {
    Progress progress = *report.progress;
    progress.at_wall = turn.now.wall;
    turn.emit(ProgressMade{attempt.uid, std::move(progress)});
  }
  if (!report.checkpoint.empty() && attempt.phase != AttemptPhase::kEnded)
    turn.emit(CheckpointAccepted{attempt.task, attempt.uid, report.checkpoint, report.checkpoint_step});
  NodeId node = member.node;
  MemberAdvances(turn, attempt, member, report);
  if (report.formation) OnFormation(turn, report.uid, node, *report.formation);
}

// The node holds an attempt that it should not hold: told to stop; once it has ended, told to forget.
void Unwanted(Turn& turn, NodeId node, const AttemptReport& report) {
  bool over = report.unknown || report.phase == AttemptPhase::kEnded;
  turn.emit(NodeStale{node, report.uid, !over});
}

void OnAttempt(Turn& turn, NodeId node, const AttemptReport& report) {
  const Attempt* attempt = turn.state.FindAttempt(report.uid);
  const Member* member = attempt == nullptr ? nullptr : attempt->FindMember(node);
  if (member == nullptr || member->gone) return Unwanted(turn, node, report);
  if (report.generation < attempt->rendezvous.generation && report.phase != AttemptPhase::kEnded && !report.unknown) {
    // Which processes live is no matter of the rendezvous: their own generations are the fence. A node that waits to be told
    // where the next one meets could say nothing else.
    if (report.formation) OnFormation(turn, report.uid, node, *report.formation);
    return;
  }
  if (attempt->phase == AttemptPhase::kEnded) {  // it outlived its STOPPING: its resources were out of service until now
    if (!report.unknown && report.phase != AttemptPhase::kEnded) return;
    std::string record = report.exit ? report.exit->record : "";
    turn.emit(MemberGone{.uid = report.uid, .node = node, .exit = record});
    return;
  }
  if (report.unknown) {  // asked to stop before it ever started there
    if (attempt->phase != AttemptPhase::kStopping) return;
    turn.emit(MemberGone{.uid = report.uid, .node = node});
    return SettleIfDone(turn, report.uid);
  }
  if (report.phase == AttemptPhase::kEnded) {
    if (report.progress || !report.checkpoint.empty()) Live(turn, *attempt, *member, report);
    return MemberEnds(turn, *attempt, *member, report);
  }
  Live(turn, *attempt, *member, report);
}

// The snapshot is complete: what the node was known to have started and no longer names, it has lost.
void OnSnapshotEnd(Turn& turn, NodeId node, const std::set<Uid>& named) {
  std::set<Uid> held = turn.state.FindNode(node)->held;
  for (const Uid& uid : held) {
    const Attempt* attempt = turn.state.FindAttempt(uid);
    const Member* member = attempt->FindMember(node);
    if (named.contains(uid) || member->phase == AttemptPhase::kPlaced) continue;
    if (attempt->phase == AttemptPhase::kEnded) {
      turn.emit(MemberGone{.uid = uid, .node = node, .lost = true});
    } else {
      LoseMember(turn, uid, node, "no longer knows of it");
    }
  }
  turn.emit(NodeSnapshotComplete{node});
}

}  // namespace

void DecideReport(Turn& turn, const NodeReport& report) {
  std::optional<NodeId> node = turn.sessions->NodeOf(report.session);
  if (!node) return;  // a stream that was never accepted, or was replaced
  turn.sessions->OnReport(report.session, report.seq, report.ack);
  if (report.snapshot_begin) turn.sessions->BeginSnapshot(report.session);
  if (report.inventory) turn.emit(NodeInventoryChanged{*node, *report.inventory});
  for (const AttemptReport& attempt : report.attempts) {
    turn.sessions->NoteNamed(report.session, attempt.uid);
    OnAttempt(turn, *node, attempt);
  }
  if (report.snapshot_end) OnSnapshotEnd(turn, *node, turn.sessions->EndSnapshot(report.session));
}

}  // namespace gt
