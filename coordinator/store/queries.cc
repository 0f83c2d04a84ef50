#include "coordinator/store/queries.h"

#include <algorithm>

#include "coordinator/store/pack.h"
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
  GT_ASSIGN_OR_RETURN(sqlite::Statement * s, db->Cached("SELECT " GT_TASK_COLUMNS " FROM task WHERE id BETWEEN ? AND ? "
                                                        "ORDER BY id LIMIT ?"));
  sqlite::ResetLater reset(s);
  s->Bind(1, rows::TaskKey({job, index.value_or(0)}));
  s->Bind(2, rows::TaskKey({job, index.value_or(rows::kMaxIndex)}));
  s->Bind(3, int64_t{std::min(limit, kMaxRows)});
  std::vector<Task> tasks;
  for (;;) {
    GT_ASSIGN_OR_RETURN(bool row, s->Step());
    if (!row) return tasks;
    GT_ASSIGN_OR_RETURN(Task task, rows::ReadTask(*s));
    tasks.push_back(std::move(task));
  }
}

Status FillMembers(sqlite::Database* db, Attempt* attempt) {
  GT_ASSIGN_OR_RETURN(sqlite::Statement * s, db->Cached("SELECT " GT_MEMBER_COLUMNS " FROM member WHERE attempt = ? "
                                                        "ORDER BY group_rank"));
  sqlite::ResetLater reset(s);
  s->Bind(1, rows::AttemptKey(attempt->task, attempt->number));
  for (;;) {
    GT_ASSIGN_OR_RETURN(bool row, s->Step());
    if (!row) return OkStatus();
    GT_ASSIGN_OR_RETURN(Member member, rows::ReadMember(*s));
    attempt->members.push_back(std::move(member));
  }
}

Result<std::vector<Attempt>> GetAttempts(sqlite::Database* db, TaskId task, uint32_t number, uint32_t limit) {
  GT_ASSIGN_OR_RETURN(sqlite::Statement * s,
                      db->Cached("SELECT " GT_ATTEMPT_COLUMNS GT_ATTEMPT_FROM "WHERE a.id BETWEEN ? AND ? ORDER BY a.id DESC "
                                 "LIMIT ?"));
  sqlite::ResetLater reset(s);
  s->Bind(1, rows::AttemptKey(task, number));
  s->Bind(2, rows::AttemptKey(task, number == 0 ? rows::kMaxNumber : number));
  s->Bind(3, int64_t{std::min(limit, kMaxRows)});
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

// Rows hold several lines each: reads until there are `limit` lines behind `after_seq`, a row's lines in their order.
Result<std::vector<HistoryEntry>> ReadEvents(sqlite::Statement* s, uint64_t after_seq, uint32_t limit, bool newest_first) {
  sqlite::ResetLater reset(s);
  std::vector<HistoryEntry> entries;
  while (entries.size() < limit) {
    GT_ASSIGN_OR_RETURN(bool row, s->Step());
    if (!row) break;
    std::vector<HistoryLine> lines;
    if (!pack::ReadLines(s->View(3), &lines)) return rows::Torn("event");
    uint64_t first = static_cast<uint64_t>(s->Int(0)) + 1 - lines.size();
    std::vector<HistoryEntry> more;
    for (size_t i = 0; i < lines.size(); i++) {
      if (first + i <= after_seq) continue;
      HistoryEntry& entry = more.emplace_back(HistoryEntry{.seq = first + i, .at_wall = s->Int(1), .line = std::move(lines[i])});
      entry.line.job = {static_cast<uint64_t>(s->Int(2))};
    }
    entries.insert(newest_first ? entries.begin() : entries.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  size_t surplus = entries.size() > limit ? entries.size() - limit : 0;
  auto cut = newest_first ? entries.begin() : entries.end() - static_cast<std::ptrdiff_t>(surplus);
  entries.erase(cut, cut + static_cast<std::ptrdiff_t>(surplus));
  return entries;
}

}  // namespace

#define GT_EVENT_COLUMNS "seq, at, job, lines_pack"

Result<std::vector<HistoryEntry>> Events(sqlite::Database* db, JobId job, uint64_t after_seq, uint32_t limit) {
  bool all = job.value == 0;
  GT_ASSIGN_OR_RETURN(sqlite::Statement * s,
                      all ? db->Cached("SELECT " GT_EVENT_COLUMNS " FROM event WHERE seq > ?2 ORDER BY seq")
                          : db->Cached("SELECT " GT_EVENT_COLUMNS " FROM event WHERE job = ?1 AND seq > ?2 ORDER BY seq"));
  if (!all) s->Bind(1, static_cast<int64_t>(job.value));
  s->Bind(2, static_cast<int64_t>(std::min<uint64_t>(after_seq, INT64_MAX)));
  return ReadEvents(s, after_seq, std::min(limit, kMaxRows), false);
}

Result<std::vector<HistoryEntry>> LastEvents(sqlite::Database* db, JobId job, uint32_t limit) {
  bool all = job.value == 0;
  GT_ASSIGN_OR_RETURN(sqlite::Statement * s,
                      all ? db->Cached("SELECT " GT_EVENT_COLUMNS " FROM event ORDER BY seq DESC")
                          : db->Cached("SELECT " GT_EVENT_COLUMNS " FROM event WHERE job = ?1 ORDER BY seq DESC"));
  if (!all) s->Bind(1, static_cast<int64_t>(job.value));
  return ReadEvents(s, 0, std::min(limit, kMaxRows), true);
}

}  // namespace gt::queries
