#include "coordinator/store/store.h"

#include <sys/resource.h>
#include <unistd.h>

#include <mutex>
#include <thread>

#include "common/os/file.h"
#include "common/os/random.h"
#include "coordinator/store/backup.h"
#include "coordinator/store/checkpointer.h"
#include "coordinator/store/expire.h"
#include "coordinator/store/queries.h"
#include "coordinator/store/read_pool.h"
#include "coordinator/store/schema.h"
#include "coordinator/store/writer.h"

namespace gt {

struct Store::Impl {
  Impl(const std::string& path, StoreOptions options)
      : path(path), options(std::move(options)), readers(path, this->options.vfs, this->options.readers),
        checkpointer(path, this->options.vfs, this->options.checkpoint_bytes, this->options.wal_limit_bytes, &writing) {}
  ~Impl();

  void StartCheck();
  Result<std::optional<JobId>> FindKey(const std::string& client_key);
  Status EndLookups();
  // A write that failed for other reasons than space leaves memory ahead of the disk.
  Status Judge(Status status) const;

  const std::string path;
  const StoreOptions options;
  std::string cluster_id;
  std::mutex writing;                 // one transaction or one reset of the WAL at a time
  std::unique_ptr<Writer> writer;     // used by the loop's thread, under `writing`
  // The loop looks up a key for each job that is submitted: on a connection of its own, in one snapshot a batch, because
  // beginning one costs several locks of files.
  std::unique_ptr<sqlite::Database> keys;
  bool looking_up = false;
  ReadPool readers;
  Checkpointer checkpointer;          // destroyed before what it uses
  std::mutex check_mutex;
  std::unique_ptr<sqlite::Database> check_db;  // set under check_mutex
  std::thread check_thread;
};

Store::Impl::~Impl() {
  {
    std::lock_guard lock(check_mutex);
    if (check_db != nullptr) sqlite3_interrupt(check_db->get());
  }
  if (check_thread.joinable()) check_thread.join();
}

Status Store::Impl::Judge(Status status) const {
  if (status.ok() || status.code() == Code::kResourceExhausted) return status;
  if (status.code() == Code::kDataLoss) return Damaged(path, status.message());
  return {Code::kInternal, status.message()};
}

Result<std::optional<JobId>> Store::Impl::FindKey(const std::string& client_key) {
  if (keys == nullptr) {
    GT_ASSIGN_OR_RETURN(sqlite::Database opened, sqlite::Database::Open(path, SQLITE_OPEN_READONLY, options.vfs));
    keys = std::make_unique<sqlite::Database>(std::move(opened));
    sqlite3_busy_timeout(keys->get(), 5000);
  }
  if (!looking_up) GT_RETURN_IF_ERROR(keys->Exec("BEGIN"));
  looking_up = true;
  return queries::FindKey(keys.get(), client_key);
}

// Only a commit changes what a lookup finds, so the snapshot may last until the next one.
Status Store::Impl::EndLookups() {
  if (!looking_up) return OkStatus();
  looking_up = false;
  return keys->Exec("COMMIT");
}

void Store::Impl::StartCheck() {
  Result<sqlite::Database> opened = sqlite::Database::Open(path, SQLITE_OPEN_READONLY, options.vfs);
  if (!opened.ok()) return;  // the next read or write meets the same error and reports it
  check_db = std::make_unique<sqlite::Database>(std::move(*opened));
  check_thread = std::thread([this] {
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 10);  // in Linux: of this thread
    Status found = QuickCheck(check_db.get(), path);
    if (found.code() == Code::kDataLoss && options.on_damage) options.on_damage(found);
    std::lock_guard lock(check_mutex);
    check_db.reset();
  });
}

namespace {

Status CheckPlace(const std::string& path) {
  std::string dir = DirectoryOf(path);
  GT_ASSIGN_OR_RETURN(bool network, OnNetworkFileSystem(dir));
  if (network) return {Code::kFailedPrecondition, dir + " is on a network file system, where locks and fsync cannot be trusted"};
  if (access(dir.c_str(), W_OK | X_OK) != 0) return {Code::kFailedPrecondition, "cannot write to " + dir};
  return OkStatus();
}

Result<sqlite::Database> OpenForWriting(const std::string& path, const StoreOptions& options, std::string cluster_id) {
  GT_ASSIGN_OR_RETURN(sqlite::Database db,
                      sqlite::Database::Open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, options.vfs));
  sqlite3_busy_timeout(db.get(), 5000);
  GT_RETURN_IF_ERROR(db.Exec("PRAGMA temp_store = MEMORY"));
  GT_RETURN_IF_ERROR(db.Exec("PRAGMA cache_size = -8192"));
  GT_RETURN_IF_ERROR(Migrate(&db, path, cluster_id));
  GT_RETURN_IF_ERROR(db.Exec("PRAGMA wal_autocheckpoint = 0"));
  GT_RETURN_IF_ERROR(db.Exec("PRAGMA journal_size_limit = " + std::to_string(options.wal_limit_bytes)));
  return db;
}

}  // namespace

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;

Result<std::unique_ptr<Store>> Store::Open(const std::string& path, StoreOptions options) {
  if (options.vfs.empty()) GT_RETURN_IF_ERROR(CheckPlace(path));
  std::string cluster_id = options.cluster_id;
  if (cluster_id.empty()) {
    GT_ASSIGN_OR_RETURN(cluster_id, RandomKey());
  }
  auto impl = std::make_unique<Impl>(path, std::move(options));
  Result<sqlite::Database> db = OpenForWriting(path, impl->options, cluster_id);
  if (!db.ok()) return db.status().code() == Code::kDataLoss ? Damaged(path, db.status().message()) : db.status();
  GT_ASSIGN_OR_RETURN(impl->writer, Writer::Make(std::move(*db)));
  GT_ASSIGN_OR_RETURN(sqlite::Statement id, impl->writer->db().Prepare("SELECT cluster_id FROM meta"));
  GT_ASSIGN_OR_RETURN(bool row, id.Step());
  if (!row) return Damaged(path, "table meta is empty");
  impl->cluster_id = id.Text(0);
  id.Reset();
  auto on_commit = [](void* checkpointer, sqlite3*, const char*, int pages) {
    static_cast<Checkpointer*>(checkpointer)->OnWalSize(int64_t{pages} * 4096);
    return SQLITE_OK;
  };
  sqlite3_wal_hook(impl->writer->db().get(), on_commit, &impl->checkpointer);
  if (impl->options.background) {
    impl->checkpointer.Start();
    impl->StartCheck();
  }
  return std::unique_ptr<Store>(new Store(std::move(impl)));
}

const std::string& Store::cluster_id() const { return impl_->cluster_id; }

Result<ClusterState> Store::Load() {
  Result<ClusterState> state = impl_->readers.With([](sqlite::Database* db) { return queries::LoadState(db); });
  if (!state.ok() && state.status().code() == Code::kDataLoss) return Damaged(impl_->path, state.status().message());
  return state;
}

Result<Epoch> Store::BumpEpoch() {
  std::lock_guard lock(impl_->writing);
  Result<Epoch> epoch = impl_->writer->BumpEpoch();
  if (!epoch.ok()) return impl_->Judge(epoch.status());
  return epoch;
}

Status Store::Commit(const Batch& batch, const ClusterState& state) {
  if (Status ended = impl_->EndLookups(); !ended.ok()) return impl_->Judge(ended);
  std::lock_guard lock(impl_->writing);
  return impl_->Judge(impl_->writer->Commit(batch, state));
}

Status Store::Checkpoint() { return impl_->checkpointer.Run(false); }

Result<JobPage> Store::ListJobs(const JobFilter& filter) {
  return impl_->readers.With([&](sqlite::Database* db) { return queries::ListJobs(db, filter); });
}
Result<uint64_t> Store::CountLiveJobs() {
  return impl_->readers.With([](sqlite::Database* db) -> Result<uint64_t> {
    GT_ASSIGN_OR_RETURN(int64_t count, db->QueryInt("SELECT count(*) FROM job INDEXED BY job_live WHERE final_state IS NULL"));
    return static_cast<uint64_t>(count);
  });
}
Result<Job> Store::GetJob(JobId id) {
  return impl_->readers.With([&](sqlite::Database* db) { return queries::GetJob(db, id); });
}
Result<std::optional<JobId>> Store::FindKey(const std::string& client_key) {
  Result<std::optional<JobId>> found = impl_->FindKey(client_key);
  if (!found.ok()) return impl_->Judge(found.status());
  return found;
}
Result<std::vector<Task>> Store::GetTasks(JobId job, std::optional<uint32_t> index, uint32_t limit) {
  return impl_->readers.With([&](sqlite::Database* db) { return queries::GetTasks(db, job, index, limit); });
}
Result<std::vector<Attempt>> Store::GetAttempts(TaskId task, uint32_t limit) {
  return impl_->readers.With([&](sqlite::Database* db) { return queries::GetAttempts(db, task, 0, limit); });
}
Result<Attempt> Store::GetAttemptByNumber(TaskId task, uint32_t number) {
  GT_ASSIGN_OR_RETURN(std::vector<Attempt> found, impl_->readers.With([&](sqlite::Database* db) {
    return queries::GetAttempts(db, task, number, 1);
  }));
  if (found.empty()) return Status(Code::kNotFound, "no such attempt");
  return std::move(found[0]);
}
Result<std::vector<Node>> Store::GetNodes() {
  return impl_->readers.With([](sqlite::Database* db) { return queries::GetNodes(db); });
}
Result<std::vector<HistoryEntry>> Store::Events(JobId job, uint64_t after_seq, uint32_t limit) {
  return impl_->readers.With([&](sqlite::Database* db) { return queries::Events(db, job, after_seq, limit); });
}
Result<std::vector<HistoryEntry>> Store::LastEvents(JobId job, uint32_t limit) {
  return impl_->readers.With([&](sqlite::Database* db) { return queries::LastEvents(db, job, limit); });
}

Result<bool> Store::Expire(Millis before_wall, uint32_t max_rows) {
  GT_ASSIGN_OR_RETURN(sqlite::Database db, sqlite::Database::Open(impl_->path, SQLITE_OPEN_READWRITE, impl_->options.vfs));
  GT_RETURN_IF_ERROR(db.Exec("PRAGMA synchronous = FULL"));
  std::lock_guard lock(impl_->writing);
  GT_RETURN_IF_ERROR(db.Exec("BEGIN IMMEDIATE"));
  Result<bool> more = ExpireRows(&db, before_wall, max_rows);
  if (more.ok()) GT_RETURN_IF_ERROR(db.Exec("PRAGMA incremental_vacuum(1000)"));  // pages go back to the file system
  GT_RETURN_IF_ERROR(db.Exec(more.ok() ? "COMMIT" : "ROLLBACK"));
  return more;
}

Status Store::Backup(const std::string& path) {
  GT_ASSIGN_OR_RETURN(sqlite::Database from, sqlite::Database::Open(impl_->path, SQLITE_OPEN_READONLY, impl_->options.vfs));
  sqlite3_busy_timeout(from.get(), 5000);
  return WriteBackup(&from, path);
}

Status Store::Check() { return Check(impl_->path, impl_->options.vfs); }

Status Store::Check(const std::string& path, const std::string& vfs) {
  GT_ASSIGN_OR_RETURN(sqlite::Database db, sqlite::Database::Open(path, SQLITE_OPEN_READONLY, vfs));
  sqlite3_busy_timeout(db.get(), 5000);
  Status status = QuickCheck(&db, path);
  return status.code() == Code::kDataLoss && status.message().find("is damaged") == std::string::npos
             ? Damaged(path, status.message()) : status;
}

}  // namespace gt
