// The tables are the truth: jobs, tasks, attempts, members, nodes, counters, and the history in the same transaction.
// The only room that knows SQLite.
//
// Threads: Load, BumpEpoch, Commit and FindKey belong to one thread, the loop's. Every other read is for any thread, goes through a small
// pool of read-only connections, sees committed state only and is bounded. Nothing throws.
//
// Errors: kResourceExhausted from a write: no space, nothing was written, the same call may be made again. kDataLoss: the file
// is damaged; the message names it and the newest backup. Any other failed write is kInternal: the process must end, because
// memory is ahead of the disk.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "coordinator/core/engine.h"
#include "coordinator/core/history.h"
#include "coordinator/core/model.h"

namespace gt {

struct StoreOptions {
  std::string vfs;                   // name of a registered SQLite VFS; empty: the system's
  std::string cluster_id;            // for a file that is made now; empty: random
  bool background = true;            // own threads for WAL checkpoints and the check at start; false: call Checkpoint()
  int readers = 4;                   // read connections at most; opened when first needed
  int64_t checkpoint_bytes = 8 << 20;   // WAL size that wakes the checkpointer
  int64_t wal_limit_bytes = 64 << 20;   // WAL size above which writes wait for it
  std::function<void(Status)> on_damage;  // quick_check found damage; called once, on a thread of the store
};

struct JobFilter {
  std::vector<TaskState> states;     // jobs in any of these; empty: live ones, or all with `all`
  bool all = false;
  std::string name_glob;             // *, ?, [a-z]; empty: any
  std::string owner;                 // empty: any
  JobId before;                      // smaller ids only; none: from the newest
  uint32_t limit = 50;               // at most 1,000
};
// Newest first. One call looks at no more than 50,000 rows: `more` may be true with less than `limit` jobs, also with none;
// then go on with before = next_before.
struct JobPage {
  std::vector<Job> jobs;             // without spec, live_tasks
  bool more = false;
  JobId next_before;
};

struct HistoryEntry {
  uint64_t seq = 0;                  // rises by commit order
  Millis at_wall = 0;
  HistoryLine line;
};

class Store {
 public:
  // Makes the file when it is missing and brings an older schema up. The caller holds the data directory (data_dir.h).
  // kFailedPrecondition: a newer schema, a network file system, a directory that cannot be written. A file that Backup
  // made is taken over as a new incarnation: its id counters and epoch skip ahead of what was handed out since.
  static Result<std::unique_ptr<Store>> Open(const std::string& path, StoreOptions options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  const std::string& cluster_id() const;
  // Counters, live jobs with their tasks that have a row, attempts that are live or have members not gone, nodes. Raw fields:
  // Derive (core/load.h) fills in the rest.
  Result<ClusterState> Load();
  Result<Epoch> BumpEpoch();         // epoch + 1, on disk before it returns
  // One transaction: the rows of batch.touched_* as they are in `state`, the counters, batch.history. Durable when ok.
  Status Commit(const Batch& batch, const ClusterState& state);
  // Moves what the WAL holds into the file. For owners without the background thread; any thread, between commits.
  Status Checkpoint();

  Result<JobPage> ListJobs(const JobFilter& filter);
  Result<uint64_t> CountLiveJobs();
  Result<Job> GetJob(JobId id);      // with spec, without live_tasks; kNotFound
  Result<std::optional<JobId>> FindKey(const std::string& client_key);
  // The task `index`, else the first `limit` that were ever placed; tasks that never were have no row. In index order.
  Result<std::vector<Task>> GetTasks(JobId job, std::optional<uint32_t> index, uint32_t limit = 100);
  // With members, in number order, the newest `limit`.
  Result<std::vector<Attempt>> GetAttempts(TaskId task, uint32_t limit = 1000);
  Result<Attempt> GetAttemptByNumber(TaskId task, uint32_t number);  // 0: the newest; kNotFound
  Result<std::vector<Node>> GetNodes();
  // Of one job, or of all with JobId 0, oldest first, seq > after_seq, at most 1,000.
  Result<std::vector<HistoryEntry>> Events(JobId job, uint64_t after_seq, uint32_t limit);
  // The newest `limit` of them, oldest first.
  Result<std::vector<HistoryEntry>> LastEvents(JobId job, uint32_t limit);

  // Deletes jobs that ended before `before_wall`, with all that belongs to them, and the cluster's own history of that time: at
  // most about `max_rows` rows in one transaction, between two commits. True: there is more. Any thread.
  Result<bool> Expire(Millis before_wall, uint32_t max_rows);

  // A whole copy while work goes on; `path` must not exist and appears complete or not at all. Any thread; may take minutes.
  Status Backup(const std::string& path);
  // quick_check on a connection of its own. Any thread; reads the whole file.
  Status Check();
  // The same for a file that no coordinator has open.
  static Status Check(const std::string& path, const std::string& vfs = "");

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gt
