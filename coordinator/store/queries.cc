#include "coordinator/store/queries.h"

#include <algorithm>

#include "coordinator/store/rows.h"

namespace gt::queries {
namespace {
constexpr uint32_t kMaxRows = 1000;
}

Result<Job> GetJob(sqlite::Database* db, JobId id) {
  GT_ASSIGN_OR_RETURN(sqlite::Statement * s, db->Cached("SELECT " GT_JOB_COLUMNS ", spec FROM job JOIN job_spec ON "
                                                        "job_spec.job = job.id WHERE id = ?"));
  sqlite::ResetLater reset(s);
  s->Bind(1, static_cast<int64_t>(id.value));
  GT_ASSIGN_OR_RETURN(bool row, s->Step());
  if (!row) return Status(Code::kNotFound, "no job " + std::to_string(id.value));
  GT_ASSIGN_OR_RETURN(Job job, rows::ReadJob(*s));
  job.spec = s->Text(rows::kJobColumnCount);
  return job;
}

Result<std::optional<JobId>> FindKey(sqlite::Database* db, const std::string& client_key) {
  if (client_key.empty()) return std::optional<JobId>();
  GT_ASSIGN_OR_RETURN(sqlite::Statement * s, db->Cached("SELECT id FROM job WHERE client_key = ? AND client_key <> ''"));
  sqlite::ResetLater reset(s);
  s->Bind(1, client_key);
  GT_ASSIGN_OR_RETURN(bool row, s->Step());
  if (!row) return std::optional<JobId>();
  return std::optional<JobId>(JobId{static_cast<uint64_t>(s->Int(0))});
}

Result<std::vector<Task>> GetTasks(sqlite::Database* db, JobId job, std::optional<uint32_t> index, uint32_t limit) {
  GT_ASSIGN_OR_RETURN(sqlite::Statement * s, db->Cached("SELECT " GT_TASK_COLUMNS " FROM task WHERE job = ? AND idx >= ? AND idx <= ? "
                                                        "ORDER BY idx LIMIT ?"));
  sqlite::ResetLater reset(s);
  s->Bind(1, static_cast<int64_t>(job.value));
  s->Bind(2, int64_t{index.value_or(0)});
  s->Bind(3, int64_t{index.value_or(UINT32_MAX)});
  s->Bind(4, int64_t{std::min(limit, kMaxRows)});
  std::vector<Task> tasks;
  for (;;) {
    GT_ASSIGN_OR_RETURN(bool row, s->Step());
    if (!row) return tasks;
    GT_ASSIGN_OR_RETURN(Task task, rows::ReadTask(*s));
    tasks.push_back(std::move(task));
  }
}

Status FillMembers(sqlite::Database* db, Attempt* attempt) {
  GT_ASSIGN_OR_RETURN(sqlite::Statement * s, db->Cached("SELECT " GT_MEMBER_COLUMNS " FROM member WHERE job = ? AND idx = ? AND "
                                                        "number = ? ORDER BY group_rank"));
  sqlite::ResetLater reset(s);
  s->Bind(1, static_cast<int64_t>(attempt->task.job.value));
  s->Bind(2, int64_t{attempt->task.index});
  s->Bind(3, int64_t{attempt->number});
  for (;;) {
    GT_ASSIGN_OR_RETURN(bool row, s->Step());
    if (!row) return OkStatus();
    GT_ASSIGN_OR_RETURN(Member member, rows::ReadMember(*s));
    attempt->members.push_back(std::move(member));
  }
}

Result<std::vector<Attempt>> GetAttempts(sqlite::Database* db, TaskId task, uint32_t number, uint32_t limit) {
  GT_ASSIGN_OR_RETURN(sqlite::Statement * s,
                      db->Cached("SELECT " GT_ATTEMPT_COLUMNS GT_ATTEMPT_FROM "WHERE a.job = ? AND a.idx = ? AND a.number >= ? AND "
                                 "a.number <= ? ORDER BY a.number DESC LIMIT ?"));
  sqlite::ResetLater reset(s);
  s->Bind(1, static_cast<int64_t>(task.job.value));
  s->Bind(2, int64_t{task.index});
  s->Bind(3, int64_t{number});
  s->Bind(4, int64_t{number == 0 ? UINT32_MAX : number});
  s->Bind(5, int64_t{std::min(limit, kMaxRows)});
  std::vector<Attempt> attempts;
  for (;;) {
    GT_ASSIGN_OR_RETURN(bool row, s->Step());
    if (!row) break;
    GT_ASSIGN_OR_RETURN(rows::AttemptRow read, rows::ReadAttempt(*s));
    if (read.members > 1) GT_RETURN_IF_ERROR(FillMembers(db, &read.attempt));
    attempts.push_back(std::move(read.attempt));
  }
  std::reverse(attempts.begin(), attempts.end());
  return attempts;
}

Result<std::vector<Node>> GetNodes(sqlite::Database* db) {
  GT_ASSIGN_OR_RETURN(sqlite::Statement * s, db->Cached("SELECT " GT_NODE_COLUMNS " FROM node ORDER BY id"));
  sqlite::ResetLater reset(s);
  std::vector<Node> nodes;
  for (;;) {
    GT_ASSIGN_OR_RETURN(bool row, s->Step());
    if (!row) return nodes;
    GT_ASSIGN_OR_RETURN(Node node, rows::ReadNode(*s));
    nodes.push_back(std::move(node));
  }
}

namespace {
Result<std::vector<HistoryEntry>> ReadEvents(sqlite::Statement* s) {
  sqlite::ResetLater reset(s);
  std::vector<HistoryEntry> entries;
  for (;;) {
    GT_ASSIGN_OR_RETURN(bool row, s->Step());
    if (!row) return entries;
    HistoryEntry entry{.seq = static_cast<uint64_t>(s->Int(0)), .at_wall = s->Int(1)};
    entry.line.job = {static_cast<uint64_t>(s->Int(2))};
    entry.line.task_index = static_cast<uint32_t>(s->Int(3));
    entry.line.attempt = static_cast<uint32_t>(s->Int(4));
    entry.line.kind = s->Text(5);
    entry.line.node = s->Text(6);
    entry.line.text = s->Text(7);
    entries.push_back(std::move(entry));
  }
}
}  // namespace

#define GT_EVENT_COLUMNS "seq, at, job, idx, attempt, kind, node, text"

Result<std::vector<HistoryEntry>> Events(sqlite::Database* db, JobId job, uint64_t after_seq, uint32_t limit) {
  bool all = job.value == 0;
  GT_ASSIGN_OR_RETURN(sqlite::Statement * s,
                      all ? db->Cached("SELECT " GT_EVENT_COLUMNS " FROM event WHERE seq > ?2 ORDER BY seq LIMIT ?3")
                          : db->Cached("SELECT " GT_EVENT_COLUMNS " FROM event WHERE job = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3"));
  if (!all) s->Bind(1, static_cast<int64_t>(job.value));
  s->Bind(2, static_cast<int64_t>(std::min<uint64_t>(after_seq, INT64_MAX)));
  s->Bind(3, int64_t{std::min(limit, kMaxRows)});
  return ReadEvents(s);
}

Result<std::vector<HistoryEntry>> LastEvents(sqlite::Database* db, JobId job, uint32_t limit) {
  bool all = job.value == 0;
  GT_ASSIGN_OR_RETURN(sqlite::Statement * s,
                      all ? db->Cached("SELECT " GT_EVENT_COLUMNS " FROM event ORDER BY seq DESC LIMIT ?2")
                          : db->Cached("SELECT " GT_EVENT_COLUMNS " FROM event WHERE job = ?1 ORDER BY seq DESC LIMIT ?2"));
  if (!all) s->Bind(1, static_cast<int64_t>(job.value));
  s->Bind(2, int64_t{std::min(limit, kMaxRows)});
  GT_ASSIGN_OR_RETURN(std::vector<HistoryEntry> entries, ReadEvents(s));
  std::reverse(entries.begin(), entries.end());
  return entries;
}

}  // namespace gt::queries
