#include "coordinator/store/pack.h"
#include "coordinator/store/rows.h"

namespace gt::rows {
namespace {

int BindMemberFields(sqlite::Statement* s, int i, const Member& member, Scratch* scratch) {
  scratch->c = pack::Strings(member.gpu_uuids);
  s->Bind(i++, static_cast<int64_t>(member.node.value));
  s->Bind(i++, Number(member.phase));
  s->BindBlob(i++, scratch->c);
  s->Bind(i++, int64_t{member.gone});
  s->Bind(i++, int64_t{member.lost});
  s->BindBlob(i++, member.exit);
  return i;
}

Result<Member> ReadMemberAt(const sqlite::Statement& s, int i) {
  Member member;
  member.node = {static_cast<uint64_t>(s.Int(i))};
  member.gone = s.Int(i + 3) != 0;
  member.lost = s.Int(i + 4) != 0;
  member.exit = s.Text(i + 5);
  if (!ReadEnum(s.Int(i + 1), AttemptPhase::kEnded, &member.phase) || !pack::ReadStrings(s.View(i + 2), &member.gpu_uuids))
    return Torn("member");
  return member;
}

bool ReadFailure(const sqlite::Statement& s, int i, Failure* failure) {
  if (s.IsNull(i)) return true;
  failure->rank = static_cast<int32_t>(s.Int(i + 1));
  failure->node = {static_cast<uint64_t>(s.Int(i + 2))};
  failure->node_name = s.Text(i + 3);
  failure->code = static_cast<int32_t>(s.Int(i + 4));
  failure->signal = static_cast<int32_t>(s.Int(i + 5));
  failure->message = s.Text(i + 6);
  failure->tail = s.Text(i + 7);
  return ReadEnum(s.Int(i), Cause::kTimeLimit, &failure->cause);
}

}  // namespace

bool IsLive(const Attempt& attempt) { return attempt.phase != AttemptPhase::kEnded || !attempt.AllGone(); }

void BindAttempt(sqlite::Statement* s, const Attempt& attempt, Scratch* scratch) {
  scratch->a = pack::OfUid(attempt.uid);
  scratch->b = attempt.phase == AttemptPhase::kEnded ? pack::OfProgress(attempt.progress) : "";
  int i = 1;
  s->Bind(i++, AttemptKey(attempt.task, attempt.number));
  s->BindBlob(i++, scratch->a);
  s->Bind(i++, Number(attempt.phase));
  s->Bind(i++, int64_t{IsLive(attempt)});
  s->Bind(i++, int64_t{attempt.cpus});
  s->Bind(i++, attempt.memory);
  s->Bind(i++, Number(attempt.rendezvous.state));
  s->Bind(i++, int64_t{attempt.rendezvous.generation.value});
  s->BindOptional(i++, attempt.rendezvous.addr);
  s->Bind(i++, int64_t{attempt.rendezvous.port});
  s->Bind(i++, attempt.placed_wall);
  s->Bind(i++, attempt.running_wall);
  s->Bind(i++, attempt.ended_wall);
  s->Bind(i++, Number(attempt.stop_cause));
  s->Bind(i++, attempt.stop_grace);
  s->Bind(i++, Number(attempt.cause));
  s->BindOptional(i++, attempt.message);
  s->Bind(i++, int64_t{attempt.charged});
  s->Bind(i++, int64_t{attempt.exit_code});
  s->BindOptional(i++, attempt.resume_from);
  s->Bind(i++, static_cast<int64_t>(attempt.resume_step));
  s->BindBlob(i++, scratch->b);
  s->Bind(i++, static_cast<int64_t>(attempt.members.size()));
  if (attempt.members.size() == 1) {
    BindMemberFields(s, i, attempt.members[0], scratch);
  } else {
    for (int end = i + 6; i < end; i++) s->BindNull(i);
  }
}

void BindAttemptChange(sqlite::Statement* s, const Attempt& attempt, Scratch* scratch) {
  scratch->b = attempt.phase == AttemptPhase::kEnded ? pack::OfProgress(attempt.progress) : "";
  const Member* only = attempt.members.size() == 1 ? &attempt.members[0] : nullptr;
  int i = 1;
  s->Bind(i++, AttemptKey(attempt.task, attempt.number));
  s->Bind(i++, Number(attempt.phase));
  s->Bind(i++, Number(attempt.rendezvous.state));
  s->Bind(i++, int64_t{attempt.rendezvous.generation.value});
  s->BindOptional(i++, attempt.rendezvous.addr);
  s->Bind(i++, int64_t{attempt.rendezvous.port});
  s->Bind(i++, attempt.running_wall);
  s->Bind(i++, attempt.ended_wall);
  s->Bind(i++, Number(attempt.stop_cause));
  s->Bind(i++, attempt.stop_grace);
  s->Bind(i++, Number(attempt.cause));
  s->BindOptional(i++, attempt.message);
  s->Bind(i++, int64_t{attempt.charged});
  s->Bind(i++, int64_t{attempt.exit_code});
  s->BindBlob(i++, scratch->b);
  if (only == nullptr) {
    for (int end = i + 4; i < end; i++) s->BindNull(i);
    return;
  }
  s->Bind(i++, Number(only->phase));
  s->Bind(i++, int64_t{only->gone});
  s->Bind(i++, int64_t{only->lost});
  s->BindBlob(i++, only->exit);
}

Result<AttemptRow> ReadAttempt(const sqlite::Statement& s) {
  AttemptRow row;
  Attempt& a = row.attempt;
  a.task = TaskOf(s.Int(0) >> kNumberBits);
  a.number = static_cast<uint32_t>(s.Int(0) & kMaxNumber);
  a.cpus = static_cast<int32_t>(s.Int(4));
  a.memory = s.Int(5);
  a.rendezvous.generation = {static_cast<uint32_t>(s.Int(7))};
  a.rendezvous.addr = s.Text(8);
  a.rendezvous.port = static_cast<uint16_t>(s.Int(9));
  a.placed_wall = s.Int(10);
  a.running_wall = s.Int(11);
  a.ended_wall = s.Int(12);
  a.stop_grace = s.Int(14);
  a.message = s.Text(16);
  a.charged = s.Int(17) != 0;
  a.exit_code = static_cast<int32_t>(s.Int(18));
  a.resume_from = s.Text(19);
  a.resume_step = static_cast<uint64_t>(s.Int(20));
  row.members = s.Int(22);
  bool ok = pack::ReadUid(s.View(1), &a.uid) && ReadEnum(s.Int(2), AttemptPhase::kEnded, &a.phase) &&
            ReadEnum(s.Int(6), RendezvousState::kClosed, &a.rendezvous.state) &&
            ReadEnum(s.Int(13), Cause::kTimeLimit, &a.stop_cause) && ReadEnum(s.Int(15), Cause::kTimeLimit, &a.cause) &&
            pack::ReadProgress(s.View(21), &a.progress) && ReadFailure(s, 29, &a.failure);
  if (!ok) return Torn("attempt");
  if (row.members == 1) {
    GT_ASSIGN_OR_RETURN(Member member, ReadMemberAt(s, 23));
    a.members.push_back(std::move(member));
  }
  return row;
}

void BindMember(sqlite::Statement* s, const Attempt& attempt, int group_rank, Scratch* scratch) {
  s->Bind(1, AttemptKey(attempt.task, attempt.number));
  s->Bind(2, int64_t{group_rank});
  BindMemberFields(s, 3, attempt.members[group_rank], scratch);
}

Result<Member> ReadMember(const sqlite::Statement& s) { return ReadMemberAt(s, 0); }

void BindFailure(sqlite::Statement* s, const Attempt& attempt) {
  const Failure& failure = attempt.failure;
  s->Bind(1, AttemptKey(attempt.task, attempt.number));
  s->Bind(2, Number(failure.cause));
  s->Bind(3, int64_t{failure.rank});
  s->Bind(4, static_cast<int64_t>(failure.node.value));
  s->BindOptional(5, failure.node_name);
  s->Bind(6, int64_t{failure.code});
  s->Bind(7, int64_t{failure.signal});
  s->BindOptional(8, failure.message);
  s->BindBlob(9, failure.tail);
}

void BindReform(sqlite::Statement* s, const Attempt& attempt, Scratch* scratch) {
  const Reform& reform = attempt.reform;
  scratch->a = pack::Numbers(reform.born);
  scratch->b = pack::Numbers(std::vector<NodeId>(reform.former.begin(), reform.former.end()));
  s->Bind(1, AttemptKey(attempt.task, attempt.number));
  s->Bind(2, int64_t{reform.formed.value});
  s->BindBlob(3, scratch->a);
  s->BindBlob(4, scratch->b);
  s->Bind(5, reform.since_wall);
  s->BindOptional(6, reform.why);
}

Result<ReformRow> ReadReform(const sqlite::Statement& s) {
  ReformRow row;
  std::vector<NodeId> former;
  row.reform.formed = {static_cast<uint32_t>(s.Int(1))};
  row.reform.since_wall = s.Int(4);
  row.reform.why = s.Text(5);
  bool ok = pack::ReadUid(s.View(0), &row.uid) && pack::ReadNumbers(s.View(2), &row.reform.born) && pack::ReadNumbers(s.View(3), &former);
  if (!ok) return Torn("reform");
  row.reform.former.insert(former.begin(), former.end());
  return row;
}

}  // namespace gt::rows
