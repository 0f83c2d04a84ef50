// One batch, one transaction. Belongs to the loop's thread. Internal to this room.
#pragma once
#include "common/base/status.h"
#include "coordinator/core/engine.h"
#include "coordinator/store/rows.h"
#include "coordinator/store/sqlite.h"

namespace gt {

class Writer {
 public:
  // `db` is migrated and stays with the writer.
  static Result<std::unique_ptr<Writer>> Make(sqlite::Database db);

  // All of it or nothing; after a failure it may be called again with the same batch and state.
  Status Commit(const Batch& batch, const ClusterState& state);
  Result<Epoch> BumpEpoch();
  sqlite::Database& db() { return db_; }

 private:
  explicit Writer(sqlite::Database db) : db_(std::move(db)) {}
  Status Prepare();
  Status InTransaction(const Batch& batch, const ClusterState& state);
  Status WriteNodes(const Batch& batch, const ClusterState& state);
  Status WriteJobs(const Batch& batch, const ClusterState& state);
  Status InsertJob(const Job& job);
  Status WriteTasks(const Batch& batch, const ClusterState& state);
  Status WriteAttempts(const Batch& batch, const ClusterState& state);
  Status WriteAttempt(const Attempt& attempt, bool is_new);
  Status WriteHistory(const Batch& batch);
  Status WriteCounters(const ClusterState& state);
  void RollBack();

  sqlite::Database db_;
  rows::Scratch scratch_;
  sqlite::Statement begin_, commit_, rollback_;
  sqlite::Statement insert_job_, insert_spec_, update_job_, finish_job_;
  sqlite::Statement put_task_, insert_attempt_, update_attempt_, finish_attempt_, put_member_, put_failure_, put_reform_, put_node_;
  sqlite::Statement insert_event_, update_counters_;
  int64_t last_seq_ = 0, written_seq_ = 0;  // of events: committed, and with this batch
};

}  // namespace gt
