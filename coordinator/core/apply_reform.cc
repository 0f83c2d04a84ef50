// A gang that lives on when ranks of it die.
#include "coordinator/core/apply_internal.h"
#include "coordinator/core/transitions.h"

namespace gt::apply {
namespace {

void Charge(Task* task, Budget budget, Millis at_wall) {
  if (budget == Budget::kUser) task->user_failures++;
  if (budget == Budget::kInfra) task->infra_failures_wall.push_back(at_wall);
}

void Move(ClusterState* s, Attempt* attempt, const ReformStarted::Moved& moved) {
  Member& member = attempt->members.at(moved.group_rank);
  GT_ASSERT(!member.gone && attempt->FindMember(moved.member.node) == nullptr);
  Release(s, *attempt, member);
  attempt->reform.former.insert(member.node);
  member = moved.member;
  member.formation = Formation{};  // nothing of it has joined yet
  Take(s, *attempt, member);
}

}  // namespace

void On(ClusterState* s, const MemberFormed& e) { At(s->attempts, e.uid).FindMember(e.node)->formation = e.formation; }

void On(ClusterState* s, const ReformStarted& e) {
  Attempt& attempt = At(s->attempts, e.uid);
  Rendezvous& rendezvous = attempt.rendezvous;
  GT_ASSERT(attempt.phase == AttemptPhase::kRunning && e.generation > rendezvous.generation);
  if (rendezvous.state != RendezvousState::kForming) kRendezvousTable.Move(&rendezvous.state, RendezvousState::kForming);
  rendezvous.generation = e.generation;
  rendezvous.addr.clear();
  rendezvous.port = 0;
  attempt.reform.born = e.born;
  for (const ReformStarted::Moved& moved : e.moved) Move(s, &attempt, moved);
  if (!attempt.reform.underway()) attempt.reform.since_wall = e.at_wall;
  attempt.reform.why = e.why;
  SetDeadline(s, &attempt, e.deadline);
  Charge(&At(s->tasks, attempt.task), e.charged, e.at_wall);
}

void On(ClusterState* s, const GangFormed& e) {
  Attempt& attempt = At(s->attempts, e.uid);
  GT_ASSERT(e.generation == attempt.rendezvous.generation && e.generation > attempt.reform.formed);
  attempt.reform.formed = e.generation;
  if (!attempt.reform.underway()) return;
  attempt.reform.since_wall = 0;
  SetDeadline(s, &attempt, kNever);
}

}  // namespace gt::apply
