// Re-forming a gang in place. A rank that dies, or a node that is lost with its ranks, does not end the attempt when the
// others can go on: the next generation is issued, survivors and replacements meet in it, and the state is copied from a rank
// that has it. Every generation is charged as a retry would be, so that a rank that dies again and again comes to an end.
// Whatever cannot re-form ends as a broken gang does (settle.cc).
#include "coordinator/core/reform.h"

#include <algorithm>

#include "coordinator/core/place/place.h"
#include "coordinator/core/retry.h"

namespace gt {
namespace {

bool MayReform(const Turn& turn, const Attempt& attempt, const Job& job) {
  bool whole = std::none_of(attempt.members.begin(), attempt.members.end(), [](const Member& m) { return m.gone; });
  return job.contract && !job.cancel_requested && turn.policy.reform_timeout > 0 && attempt.phase == AttemptPhase::kRunning &&
         attempt.failure.cause == Cause::kNone && attempt.reform.formed.value > 0 && whole;
}

// A rank that has the state may still live. A node that has not spoken since this process started may hold one.
bool MaySurvive(const Member& member) { return !member.formation || member.formation->survives; }

bool Affordable(const Turn& turn, const Attempt& attempt, const Job& job, Cause cause) {
  return Judge(job, *turn.state.FindTask(attempt.task), cause, turn.policy, turn.now).again;
}

std::vector<Generation> BornOf(const Attempt& attempt, const Job& job) {
  if (!attempt.reform.born.empty()) return attempt.reform.born;
  return std::vector<Generation>(attempt.members.size() * static_cast<size_t>(job.ranks_per_node), Generation{1});
}

size_t GroupRankOf(const Attempt& attempt, NodeId node) { return static_cast<size_t>(attempt.FindMember(node) - attempt.members.data()); }

ReformStarted Next(const Turn& turn, const Attempt& attempt, const Job& job, Budget charged) {
  ReformStarted next{.uid = attempt.uid,
                     .generation = {attempt.rendezvous.generation.value + 1},
                     .born = BornOf(attempt, job),
                     .charged = charged,
                     .at_wall = turn.now.wall};
  next.deadline = attempt.reform.underway() ? attempt.deadline : turn.now.mono + turn.policy.reform_timeout;
  return next;
}

// What is out of range, of ranks of other nodes or from the future, was never said.
Formation Checked(Formation said, const Attempt& attempt, NodeId node, const Job& job) {
  uint64_t local = static_cast<uint64_t>(job.ranks_per_node), first = GroupRankOf(attempt, node) * local;
  Generation now = attempt.rendezvous.generation;
  if (said.joined > now) said.joined = {};
  if (said.port == 0 || said.addr.empty()) said.survives = false;  // nobody could reach it
  std::erase_if(said.down, [&](const RankDown& down) { return down.rank < first || down.rank >= first + local || down.born > now; });
  return said;
}

Failure FailureOf(const Turn& turn, const RankDown& down, NodeId node) {
  const std::string& name = turn.state.FindNode(node)->name;
  std::string how = down.signal != 0 ? "was killed by signal " + std::to_string(down.signal) : "exited with code " + std::to_string(down.code);
  std::string message = "rank " + std::to_string(down.rank) + " on node " + name + " " + how;
  if (!down.message.empty()) message += ": " + down.message;
  return {.cause = down.signal != 0 ? Cause::kSignaled : Cause::kExitNonzero, .rank = static_cast<int32_t>(down.rank), .node = node,
          .node_name = name, .code = down.code, .signal = down.signal, .message = message, .tail = down.tail};
}

// Deaths that no generation has answered yet.
std::vector<RankDown> NewDeaths(const Attempt& attempt, const Member& member, const Job& job) {
  std::vector<Generation> born = BornOf(attempt, job);
  std::vector<RankDown> deaths;
  for (const RankDown& down : member.formation->down)
    if (down.born >= born[down.rank]) deaths.push_back(down);
  return deaths;
}

void OnDeaths(Turn& turn, const Uid& uid, NodeId node) {
  const Attempt& attempt = *turn.state.FindAttempt(uid);
  const Job& job = *turn.state.FindJob(attempt.task.job);
  std::vector<RankDown> deaths = NewDeaths(attempt, *attempt.FindMember(node), job);
  if (deaths.empty()) return;
  Failure first = FailureOf(turn, deaths.front(), node);
  bool survives = std::any_of(attempt.members.begin(), attempt.members.end(), MaySurvive);
  if (!survives || !MayReform(turn, attempt, job) || !Affordable(turn, attempt, job, first.cause)) {
    Fail(turn, uid, std::move(first));
    return SettleIfDone(turn, uid);
  }
  ReformStarted next = Next(turn, attempt, job, BudgetOf(first.cause));
  for (const RankDown& down : deaths) next.born[down.rank] = next.generation;
  next.why = first.message;
  if (deaths.size() > 1) next.why += " (and " + std::to_string(deaths.size() - 1) + " more)";
  turn.emit(std::move(next));
}

// The ranks meet at one that has the state, best on a node that is heard of.
void NameStore(Turn& turn, const Uid& uid) {
  const Attempt& attempt = *turn.state.FindAttempt(uid);
  if (!attempt.reform.underway() || attempt.rendezvous.state != RendezvousState::kForming) return;
  const Member* host = nullptr;
  for (const Member& member : attempt.members) {
    if (!member.formation || !member.formation->survives) continue;
    if (host == nullptr) host = &member;
    if (IsSuspect(*turn.state.FindNode(member.node), turn.policy, turn.now)) continue;
    host = &member;
    break;
  }
  if (host != nullptr)
    turn.emit(RendezvousReady{uid, attempt.rendezvous.generation, host->formation->addr, host->formation->port});
}

void NoteFormed(Turn& turn, const Uid& uid) {
  const Attempt& attempt = *turn.state.FindAttempt(uid);
  Generation now = attempt.rendezvous.generation;
  bool all = std::all_of(attempt.members.begin(), attempt.members.end(),
                         [&](const Member& m) { return !m.gone && m.formation && m.formation->joined == now; });
  if (!all || attempt.reform.formed >= now) return;
  GangFormed formed{.uid = uid, .generation = now};
  if (attempt.reform.underway()) formed.took = std::max<Millis>(0, turn.now.wall - attempt.reform.since_wall);
  for (const Member& member : attempt.members) formed.redone_samples = std::max(formed.redone_samples, member.formation->redone_samples);
  turn.emit(formed);
}

// A node that can take the part of a member: none that has one of this attempt, or had one and lost it.
const Node* SpareNode(const Turn& turn, const Attempt& attempt, const Shape& shape) {
  Millis heard_since = HeardSince(turn.policy, turn.now);
  for (const SpareKey& key : turn.state.spare) {
    const Node& node = *turn.state.FindNode(key.node);
    if (attempt.FindMember(node.id) != nullptr || attempt.reform.former.contains(node.id)) continue;
    if (CheckFit(node, shape, {}, heard_since) == Fit::kYes) return &node;
  }
  return nullptr;
}

}  // namespace

void OnFormation(Turn& turn, const Uid& uid, NodeId node, const Formation& said) {
  const Attempt& attempt = *turn.state.FindAttempt(uid);
  if (attempt.phase >= AttemptPhase::kStopping) return;
  turn.emit(MemberFormed{uid, node, Checked(said, attempt, node, *turn.state.FindJob(attempt.task.job))});
  OnDeaths(turn, uid, node);
  if (turn.state.FindAttempt(uid)->phase != AttemptPhase::kRunning) return;
  NameStore(turn, uid);
  NoteFormed(turn, uid);
}

bool ReplaceMember(Turn& turn, const Uid& uid, NodeId lost, const std::string& why) {
  const Attempt& attempt = *turn.state.FindAttempt(uid);
  if (attempt.phase != AttemptPhase::kRunning) return false;  // one that has ended may have outlived its job
  const Job& job = *turn.state.FindJob(attempt.task.job);
  // With stop_after the lost node's ranks must be known to have ended before others take their place.
  if (!MayReform(turn, attempt, job) || job.stop_after != 0 || !Affordable(turn, attempt, job, Cause::kNodeLost)) return false;
  bool survives = std::any_of(attempt.members.begin(), attempt.members.end(),
                              [&](const Member& member) { return member.node != lost && MaySurvive(member); });
  const Node* spare = survives ? SpareNode(turn, attempt, job.shape) : nullptr;
  if (spare == nullptr) return false;
  auto group_rank = static_cast<uint32_t>(GroupRankOf(attempt, lost));
  ReformStarted next = Next(turn, attempt, job, Budget::kInfra);
  next.moved.push_back({group_rank, {.node = spare->id, .gpu_uuids = PickGpus(*spare, job.shape)}});
  for (int32_t i = 0; i < job.ranks_per_node; ++i) next.born[group_rank * static_cast<size_t>(job.ranks_per_node) + static_cast<size_t>(i)] = next.generation;
  next.why = "node " + turn.state.FindNode(lost)->name + " " + why;
  turn.emit(std::move(next));
  NameStore(turn, uid);
  return true;
}

Failure ReformOverdue(const Turn& turn, const Attempt& attempt) {
  std::string missing;
  for (const Member& member : attempt.members) {
    if (member.formation && member.formation->joined == attempt.rendezvous.generation) continue;
    const Node* node = turn.state.FindNode(member.node);
    missing += (missing.empty() ? "" : ", ") + (node == nullptr ? "?" : node->name);
  }
  return {.cause = Cause::kRendezvousTimeout, .message = "the gang did not re-form in time after " + attempt.reform.why + "; missing: " + missing};
}

}  // namespace gt
