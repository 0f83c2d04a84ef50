// Reads, each on a connection that the caller holds. Bounded and by index. Internal to this room; contracts are in store.h.
#pragma once
#include <optional>
#include <vector>

#include "coordinator/store/sqlite.h"
#include "coordinator/store/store.h"

namespace gt::queries {

Result<ClusterState> LoadState(sqlite::Database* db);

Result<JobPage> ListJobs(sqlite::Database* db, const JobFilter& filter);
Result<Job> GetJob(sqlite::Database* db, JobId id);
Result<std::optional<JobId>> FindKey(sqlite::Database* db, const std::string& client_key);
Result<std::vector<Task>> GetTasks(sqlite::Database* db, JobId job, std::optional<uint32_t> index, uint32_t limit);
Result<std::vector<Attempt>> GetAttempts(sqlite::Database* db, TaskId task, uint32_t number, uint32_t limit);  // 0: all
Result<std::vector<Node>> GetNodes(sqlite::Database* db);
Result<std::vector<HistoryEntry>> Events(sqlite::Database* db, JobId job, uint64_t after_seq, uint32_t limit);
Result<std::vector<HistoryEntry>> LastEvents(sqlite::Database* db, JobId job, uint32_t limit);

// A gang's members, which are rows of their own.
Status FillMembers(sqlite::Database* db, Attempt* attempt);

}  // namespace gt::queries
