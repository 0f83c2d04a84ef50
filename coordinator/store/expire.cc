#include "coordinator/store/expire.h"

#include "coordinator/store/rows.h"

namespace gt {
namespace {

static_assert(rows::kIndexBits == 20 && rows::kNumberBits == 10, "the statements below say so too");

// ?1: the job, ?2: rows at most. The job's own row goes last: a crash in between leaves a job that is deleted again.
constexpr const char* kOfJob[] = {
    "DELETE FROM event WHERE seq IN (SELECT seq FROM event WHERE job = ?1 LIMIT ?2)",
    "DELETE FROM failure WHERE attempt IN (SELECT attempt FROM failure WHERE attempt BETWEEN ?1 << 30 AND (?1 << 30 | 0x3FFFFFFF) LIMIT ?2)",
    "DELETE FROM member WHERE (attempt, group_rank) IN (SELECT attempt, group_rank FROM member WHERE attempt BETWEEN ?1 << 30 AND "
    "(?1 << 30 | 0x3FFFFFFF) LIMIT ?2)",
    "DELETE FROM reform WHERE attempt IN (SELECT attempt FROM reform WHERE attempt BETWEEN ?1 << 30 AND (?1 << 30 | 0x3FFFFFFF) LIMIT ?2)",
    "DELETE FROM attempt WHERE id IN (SELECT id FROM attempt WHERE id BETWEEN ?1 << 30 AND (?1 << 30 | 0x3FFFFFFF) LIMIT ?2)",
    "DELETE FROM task WHERE id IN (SELECT id FROM task WHERE id BETWEEN ?1 << 20 AND (?1 << 20 | 0xFFFFF) LIMIT ?2)",
    "DELETE FROM job_spec WHERE job = ?1 AND ?2 > 0",
    "DELETE FROM job WHERE id = ?1 AND ?2 > 0",
};
// Ids rise with the time of submission, so the old ones are at the front: no further than a job that was submitted too late.
constexpr char kOldJobs[] = "SELECT id, submitted, ended FROM job ORDER BY id";
constexpr char kClusterEvents[] =
    "DELETE FROM event WHERE seq IN (SELECT seq FROM event INDEXED BY event_cluster WHERE job IS NULL AND at < ?1 LIMIT ?2)";

Result<std::vector<int64_t>> OldJobs(sqlite::Database* db, Millis before, size_t limit) {
  GT_ASSIGN_OR_RETURN(sqlite::Statement * s, db->Cached(kOldJobs));
  sqlite::ResetLater reset(s);
  std::vector<int64_t> jobs;
  while (jobs.size() < limit) {
    GT_ASSIGN_OR_RETURN(bool row, s->Step());
    if (!row || s->Int(1) >= before) break;
    if (s->Int(2) != 0 && s->Int(2) < before) jobs.push_back(s->Int(0));
  }
  return jobs;
}

Status Delete(sqlite::Database* db, const char* sql, int64_t key, int64_t* left) {
  if (*left <= 0) return OkStatus();
  GT_ASSIGN_OR_RETURN(sqlite::Statement * s, db->Cached(sql));
  s->Bind(1, key);
  s->Bind(2, *left);
  GT_RETURN_IF_ERROR(s->Run());
  *left -= sqlite3_changes(db->get());
  return OkStatus();
}

}  // namespace

Result<bool> ExpireRows(sqlite::Database* db, Millis before_wall, uint32_t max_rows) {
  int64_t left = max_rows;
  GT_RETURN_IF_ERROR(Delete(db, kClusterEvents, before_wall, &left));
  GT_ASSIGN_OR_RETURN(std::vector<int64_t> jobs, OldJobs(db, before_wall, max_rows));
  for (size_t i = 0; i < jobs.size() && left > 0; i++)
    for (const char* sql : kOfJob) GT_RETURN_IF_ERROR(Delete(db, sql, jobs[i], &left));
  return left <= 0;
}

}  // namespace gt
