// A list is merged from sources that are each in id order: one per final state, the live jobs, or everything. Each source is
// bounded by the rows that it may look at, so that a filter that matches nothing costs no more than a page of time.
#include <algorithm>

#include "coordinator/store/queries.h"
#include "coordinator/store/rows.h"

namespace gt::queries {
namespace {

constexpr uint32_t kMaxJobs = 1000;
constexpr int kMaxLookedAt = 50000;  // by all sources of one call
constexpr size_t kMaxGlob = 200;

struct Source {
  const char* sql;                  // ?1: before, ?2: state or owner
  std::optional<TaskState> state;
  bool by_owner = false;
};

#define GT_LIST "SELECT " GT_JOB_COLUMNS " FROM job "
constexpr char kAll[] = GT_LIST "WHERE id < ?1 ORDER BY id DESC";
constexpr char kLive[] = GT_LIST "INDEXED BY job_live WHERE final_state IS NULL AND id < ?1 ORDER BY id DESC";
constexpr char kFinal[] = GT_LIST "INDEXED BY job_final WHERE final_state = ?2 AND id < ?1 ORDER BY id DESC";
constexpr char kOwner[] = GT_LIST "INDEXED BY job_owner WHERE owner = ?2 AND id < ?1 ORDER BY id DESC";

bool Wanted(const JobFilter& filter, TaskState state) {
  if (filter.states.empty()) return filter.all || !IsFinal(state);
  return std::find(filter.states.begin(), filter.states.end(), state) != filter.states.end();
}

std::vector<Source> SourcesOf(const JobFilter& filter) {
  if (!filter.owner.empty()) return {{.sql = kOwner, .by_owner = true}};
  if (filter.states.empty() && filter.all) return {{.sql = kAll}};
  std::vector<Source> sources;
  if (Wanted(filter, TaskState::kQueued) || Wanted(filter, TaskState::kActive)) sources.push_back({.sql = kLive});
  for (TaskState state : {TaskState::kSucceeded, TaskState::kFailed, TaskState::kCancelled})
    if (Wanted(filter, state)) sources.push_back({.sql = kFinal, .state = state});
  return sources;
}

// The newest `limit` + 1 of one source. `floor` rises to the id down to which the source was looked through.
Status ReadSource(sqlite::Database* db, const Source& source, const JobFilter& filter, uint32_t limit, int may_look,
                  std::vector<Job>* jobs, JobId* floor) {
  GT_ASSIGN_OR_RETURN(sqlite::Statement * s, db->Cached(source.sql));
  sqlite::ResetLater reset(s);
  s->Bind(1, filter.before.value == 0 ? INT64_MAX : static_cast<int64_t>(std::min<uint64_t>(filter.before.value, INT64_MAX)));
  if (source.state) s->Bind(2, rows::Number(*source.state));
  if (source.by_owner) s->Bind(2, filter.owner);
  for (uint32_t found = 0; found <= limit;) {
    GT_ASSIGN_OR_RETURN(bool row, s->Step());
    if (!row) return OkStatus();
    JobId id{static_cast<uint64_t>(s->Int(0))};
    if (may_look-- == 0) {
      floor->value = std::max(floor->value, id.value + 1);
      return OkStatus();
    }
    if (!filter.name_glob.empty() && sqlite3_strglob(filter.name_glob.c_str(), s->Text(2).c_str()) != 0) continue;
    GT_ASSIGN_OR_RETURN(Job job, rows::ReadJob(*s));
    if (!Wanted(filter, JobState(job))) continue;
    jobs->push_back(std::move(job));
    found++;
  }
  return OkStatus();
}

}  // namespace

Result<JobPage> ListJobs(sqlite::Database* db, const JobFilter& filter) {
  if (filter.name_glob.size() > kMaxGlob) return Status(Code::kInvalidArgument, "the name pattern is longer than 200 bytes");
  uint32_t limit = std::clamp(filter.limit, 1u, kMaxJobs);
  std::vector<Source> sources = SourcesOf(filter);
  JobPage page;
  JobId floor;
  for (const Source& source : sources) {
    int may_look = kMaxLookedAt / static_cast<int>(sources.size());
    GT_RETURN_IF_ERROR(ReadSource(db, source, filter, limit, may_look, &page.jobs, &floor));
  }
  std::sort(page.jobs.begin(), page.jobs.end(), [](const Job& a, const Job& b) { return a.id > b.id; });
  // Below the floor some source has rows that nobody looked at.
  std::erase_if(page.jobs, [&](const Job& job) { return job.id < floor; });
  page.more = page.jobs.size() > limit || floor.value != 0;
  page.next_before = floor;
  if (page.jobs.size() > limit) {
    page.jobs.resize(limit);
    page.next_before = page.jobs.back().id;
  }
  return page;
}

}  // namespace gt::queries
