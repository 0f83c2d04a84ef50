#include "coordinator/store/writer.h"

#include <algorithm>
#include <unordered_map>
#include <variant>

#include "coordinator/store/pack.h"

namespace gt {
namespace {

constexpr char kInsertJob[] =
    "INSERT INTO job VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
// While a job lives its final_state is left alone, so that the indices on it are not touched.
#define GT_JOB_CHANGE                                                                                            \
  "UPDATE job SET queued = ?2, active = ?3, succeeded = ?4, failed = ?5, cancelled = ?6, next_index = ?7, "      \
  "cancel_requested = ?8, cancel_reason = ?9, started = ?10, ended = ?11, max_attempt = ?12, cause = ?13, "      \
  "message = ?14, exit_code = ?15"
constexpr char kUpdateJob[] = GT_JOB_CHANGE " WHERE id = ?1";
constexpr char kFinishJob[] = GT_JOB_CHANGE ", final_state = ?16 WHERE id = ?1";

constexpr char kPutTask[] =
    "INSERT INTO task VALUES (?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO UPDATE SET state = excluded.state, "
    "attempts = excluded.attempts, user_failures = excluded.user_failures, infra_failures_pack = excluded.infra_failures_pack, "
    "avoid = excluded.avoid, not_before = excluded.not_before, checkpoint = excluded.checkpoint, "
    "checkpoint_step = excluded.checkpoint_step, cause = excluded.cause, message = excluded.message";

constexpr char kInsertAttempt[] =
    "INSERT INTO attempt VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
// The same for `live`: it falls once.
#define GT_ATTEMPT_CHANGE                                                                                          \
  "UPDATE attempt SET phase = ?2, rendezvous = ?3, generation = ?4, addr = ?5, port = ?6, running = ?7, "          \
  "ended = ?8, stop_cause = ?9, stop_grace = ?10, cause = ?11, message = ?12, charged = ?13, exit_code = ?14, "    \
  "progress_pack = ?15, member_phase = ?16, gone = ?17, lost = ?18, exit_record = ?19"
constexpr char kUpdateAttempt[] = GT_ATTEMPT_CHANGE " WHERE id = ?1";
constexpr char kFinishAttempt[] = GT_ATTEMPT_CHANGE ", live = 0 WHERE id = ?1";

constexpr char kPutMember[] =
    "INSERT INTO member VALUES (?,?,?,?,?,?,?,?) ON CONFLICT (attempt, group_rank) DO UPDATE SET "
    "node = excluded.node, gpu_uuids_pack = excluded.gpu_uuids_pack, phase = excluded.phase, gone = excluded.gone, lost = excluded.lost, exit_record = excluded.exit_record";
constexpr char kPutFailure[] = "INSERT INTO failure VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT (attempt) DO NOTHING";
constexpr char kPutReform[] =
    "INSERT INTO reform VALUES (?,?,?,?,?,?) ON CONFLICT (attempt) DO UPDATE SET formed = excluded.formed, "
    "born_pack = excluded.born_pack, former_pack = excluded.former_pack, since = excluded.since, why = excluded.why";
constexpr char kPutNode[] =
    "INSERT INTO node VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO UPDATE SET name = excluded.name, uid = excluded.uid, "
    "boot_id = excluded.boot_id, version = excluded.version, state = excluded.state, draining = excluded.draining, "
    "drain_reason = excluded.drain_reason, drain_actor = excluded.drain_actor, inventory_pack = excluded.inventory_pack";
constexpr char kInsertEvent[] = "INSERT INTO event VALUES (?,?,?,?)";

Status Missing(const char* what, uint64_t id) {
  return {Code::kInternal, std::string("a batch touched ") + what + " " + std::to_string(id) + ", which is not in memory"};
}

}  // namespace

Result<std::unique_ptr<Writer>> Writer::Make(sqlite::Database db) {
  std::unique_ptr<Writer> writer(new Writer(std::move(db)));
  GT_RETURN_IF_ERROR(writer->Prepare());
  return writer;
}

Status Writer::Prepare() {
  const std::pair<sqlite::Statement*, const char*> all[] = {
      {&begin_, "BEGIN IMMEDIATE"},
      {&commit_, "COMMIT"},
      {&rollback_, "ROLLBACK"},
      {&insert_job_, kInsertJob},
      {&insert_spec_, "INSERT INTO job_spec VALUES (?, ?)"},
      {&update_job_, kUpdateJob},
      {&finish_job_, kFinishJob},
      {&put_task_, kPutTask},
      {&insert_attempt_, kInsertAttempt},
      {&update_attempt_, kUpdateAttempt},
      {&finish_attempt_, kFinishAttempt},
      {&put_member_, kPutMember},
      {&put_failure_, kPutFailure},
      {&put_reform_, kPutReform},
      {&put_node_, kPutNode},
      {&insert_event_, kInsertEvent},
      {&update_counters_, "UPDATE meta SET next_job = ?, next_node = ?, epoch = max(epoch, ?)"},
  };
  for (auto [statement, sql] : all) {
    Result<sqlite::Statement> made = db_.Prepare(sql);
    if (!made.ok()) return made.status();
    *statement = std::move(*made);
  }
  GT_ASSIGN_OR_RETURN(int64_t last, db_.QueryInt("SELECT coalesce(max(seq), 0) FROM event"));
  last_seq_ = last;
  return OkStatus();
}

Status Writer::Commit(const Batch& batch, const ClusterState& state) {
  GT_RETURN_IF_ERROR(begin_.Run());
  Status done = InTransaction(batch, state);
  if (done.ok()) done = commit_.Run();
  if (done.ok()) last_seq_ = written_seq_;
  else RollBack();
  return done;
}

void Writer::RollBack() {
  // Some failures have rolled back already; a failing ROLLBACK leaves nothing that a later BEGIN would not report.
  if (sqlite3_get_autocommit(db_.get()) == 0) std::ignore = rollback_.Run();
}

Status Writer::InTransaction(const Batch& batch, const ClusterState& state) {
  GT_RETURN_IF_ERROR(WriteNodes(batch, state));
  GT_RETURN_IF_ERROR(WriteJobs(batch, state));
  GT_RETURN_IF_ERROR(WriteTasks(batch, state));
  GT_RETURN_IF_ERROR(WriteAttempts(batch, state));
  GT_RETURN_IF_ERROR(WriteHistory(batch));
  return batch.counters_touched ? WriteCounters(state) : OkStatus();
}

Status Writer::WriteNodes(const Batch& batch, const ClusterState& state) {
  for (NodeId id : batch.touched_nodes) {
    const Node* node = state.FindNode(id);
    if (node == nullptr) return Missing("node", id.value);
    rows::BindNode(&put_node_, *node, &scratch_);
    GT_RETURN_IF_ERROR(put_node_.Run());
  }
  return OkStatus();
}

Status Writer::WriteJobs(const Batch& batch, const ClusterState& state) {
  std::set<JobId> submitted;
  for (const Event& event : batch.events)
    if (const auto* submit = std::get_if<JobSubmitted>(&event)) submitted.insert(submit->job.id);
  for (JobId id : batch.touched_jobs) {
    const Job* job = state.FindJob(id);
    if (job == nullptr) return Missing("job", id.value);
    if (submitted.contains(id)) {
      GT_RETURN_IF_ERROR(InsertJob(*job));
      continue;
    }
    sqlite::Statement& update = job->ended_wall == 0 ? update_job_ : finish_job_;
    rows::BindJobChange(&update, *job);
    GT_RETURN_IF_ERROR(update.Run());
    if (sqlite3_changes(db_.get()) != 1) return Missing("job row", id.value);
  }
  return OkStatus();
}

Status Writer::InsertJob(const Job& job) {
  rows::BindJob(&insert_job_, job, &scratch_);
  GT_RETURN_IF_ERROR(insert_job_.Run());
  insert_spec_.Bind(1, static_cast<int64_t>(job.id.value));
  insert_spec_.Bind(2, job.spec);
  return insert_spec_.Run();
}

Status Writer::WriteTasks(const Batch& batch, const ClusterState& state) {
  for (const TaskId& id : batch.touched_tasks) {
    const Task* task = state.FindTask(id);
    if (task == nullptr) return Missing("a task of job", id.job.value);
    rows::BindTask(&put_task_, *task, &scratch_);
    GT_RETURN_IF_ERROR(put_task_.Run());
  }
  return OkStatus();
}

Status Writer::WriteAttempts(const Batch& batch, const ClusterState& state) {
  std::vector<Uid> placed;  // in this batch: no row of theirs is there yet
  for (const Event& event : batch.events)
    if (const auto* one = std::get_if<AttemptPlaced>(&event)) placed.push_back(one->attempt.uid);
  std::sort(placed.begin(), placed.end());
  std::vector<const Attempt*> attempts;
  attempts.reserve(batch.touched_attempts.size());
  for (const Uid& uid : batch.touched_attempts) {
    const Attempt* attempt = state.FindAttempt(uid);
    if (attempt == nullptr) return {Code::kInternal, "a batch touched attempt " + ToHex(uid) + ", which is not in memory"};
    attempts.push_back(attempt);
  }
  // In the table's order: neighbours share pages.
  std::sort(attempts.begin(), attempts.end(), [](const Attempt* a, const Attempt* b) {
    return std::tie(a->task, a->number) < std::tie(b->task, b->number);
  });
  for (const Attempt* attempt : attempts)
    GT_RETURN_IF_ERROR(WriteAttempt(*attempt, std::binary_search(placed.begin(), placed.end(), attempt->uid)));
  return OkStatus();
}

Status Writer::WriteAttempt(const Attempt& attempt, bool is_new) {
  if (is_new) {
    rows::BindAttempt(&insert_attempt_, attempt, &scratch_);
    GT_RETURN_IF_ERROR(insert_attempt_.Run());
  } else {
    sqlite::Statement& update = rows::IsLive(attempt) ? update_attempt_ : finish_attempt_;
    rows::BindAttemptChange(&update, attempt, &scratch_);
    GT_RETURN_IF_ERROR(update.Run());
    if (sqlite3_changes(db_.get()) != 1) return Missing("the row of an attempt of job", attempt.task.job.value);
  }
  if (attempt.members.size() > 1) {
    for (size_t i = 0; i < attempt.members.size(); i++) {
      rows::BindMember(&put_member_, attempt, static_cast<int>(i), &scratch_);
      GT_RETURN_IF_ERROR(put_member_.Run());
    }
  }
  if (attempt.reform.formed.value > 0) {
    rows::BindReform(&put_reform_, attempt, &scratch_);
    GT_RETURN_IF_ERROR(put_reform_.Run());
  }
  if (attempt.failure.cause == Cause::kNone) return OkStatus();
  rows::BindFailure(&put_failure_, attempt);
  return put_failure_.Run();
}

// A row a job, in the order in which the batch first speaks of it.
Status Writer::WriteHistory(const Batch& batch) {
  struct Lines {
    JobId job;
    std::string pack;
    int64_t count = 0;
  };
  std::vector<Lines> rows;
  std::unordered_map<uint64_t, size_t> row_of;
  for (const HistoryLine& line : batch.history) {
    auto [at, is_new] = row_of.emplace(line.job.value, rows.size());
    if (is_new) rows.push_back({line.job, {}, 0});
    Lines& row = rows[at->second];
    pack::AppendLine(line, &row.pack);
    row.count++;
  }
  int64_t seq = last_seq_;
  for (const Lines& row : rows) {
    seq += row.count;
    insert_event_.Bind(1, seq);
    insert_event_.Bind(2, batch.now.wall);
    if (row.job.value == 0) insert_event_.BindNull(3);
    else insert_event_.Bind(3, static_cast<int64_t>(row.job.value));
    insert_event_.BindBlob(4, row.pack);
    GT_RETURN_IF_ERROR(insert_event_.Run());
  }
  written_seq_ = seq;
  return OkStatus();
}

Status Writer::WriteCounters(const ClusterState& state) {
  update_counters_.Bind(1, static_cast<int64_t>(state.next_job.value));
  update_counters_.Bind(2, static_cast<int64_t>(state.next_node.value));
  update_counters_.Bind(3, static_cast<int64_t>(state.epoch.value));
  return update_counters_.Run();
}

Result<Epoch> Writer::BumpEpoch() {
  GT_RETURN_IF_ERROR(begin_.Run());
  Status done = db_.Exec("UPDATE meta SET epoch = epoch + 1");
  if (done.ok()) done = commit_.Run();
  if (!done.ok()) {
    RollBack();
    return done;
  }
  GT_ASSIGN_OR_RETURN(int64_t epoch, db_.QueryInt("SELECT epoch FROM meta"));
  return Epoch{static_cast<uint64_t>(epoch)};
}

}  // namespace gt
