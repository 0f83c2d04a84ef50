#include "coordinator/store/queries.h"
#include "coordinator/store/rows.h"

namespace gt::queries {
namespace {

static_assert(rows::kIndexBits == 20 && rows::kNumberBits == 10, "the queries below say so too");

Status LoadMeta(sqlite::Database* db, ClusterState* state) {
  GT_ASSIGN_OR_RETURN(sqlite::Statement s, db->Prepare("SELECT cluster_id, epoch, next_job, next_node FROM meta"));
  GT_ASSIGN_OR_RETURN(bool row, s.Step());
  if (!row) return {Code::kDataLoss, "table meta is empty"};
  state->cluster_id = s.Text(0);
  state->epoch = {static_cast<uint64_t>(s.Int(1))};
  state->next_job = {static_cast<uint64_t>(s.Int(2))};
  state->next_node = {static_cast<uint64_t>(s.Int(3))};
  return OkStatus();
}

Status LoadNodes(sqlite::Database* db, ClusterState* state) {
  GT_ASSIGN_OR_RETURN(std::vector<Node> nodes, GetNodes(db));
  for (Node& node : nodes) {
    NodeId id = node.id;
    state->nodes.emplace(id, std::move(node));
  }
  return OkStatus();
}

Status LoadJobs(sqlite::Database* db, ClusterState* state) {
  GT_ASSIGN_OR_RETURN(sqlite::Statement s, db->Prepare("SELECT " GT_JOB_COLUMNS ", spec FROM job JOIN job_spec ON job_spec.job = job.id "
                                                       "WHERE final_state IS NULL"));
  for (;;) {
    GT_ASSIGN_OR_RETURN(bool row, s.Step());
    if (!row) return OkStatus();
    GT_ASSIGN_OR_RETURN(Job job, rows::ReadJob(s));
    job.spec = s.Text(rows::kJobColumnCount);
    JobId id = job.id;
    state->jobs.emplace(id, std::move(job));
  }
}

Status LoadAttempts(sqlite::Database* db, ClusterState* state) {
  GT_ASSIGN_OR_RETURN(sqlite::Statement s, db->Prepare("SELECT " GT_ATTEMPT_COLUMNS GT_ATTEMPT_FROM "WHERE a.live = 1"));
  for (;;) {
    GT_ASSIGN_OR_RETURN(bool row, s.Step());
    if (!row) return OkStatus();
    GT_ASSIGN_OR_RETURN(rows::AttemptRow read, rows::ReadAttempt(s));
    if (read.members > 1) GT_RETURN_IF_ERROR(FillMembers(db, &read.attempt));
    Uid uid = read.attempt.uid;
    state->attempts.emplace(uid, std::move(read.attempt));
  }
}

Status LoadReforms(sqlite::Database* db, ClusterState* state) {
  GT_ASSIGN_OR_RETURN(sqlite::Statement s, db->Prepare("SELECT a.uid, " GT_REFORM_COLUMNS " FROM attempt AS a CROSS JOIN reform AS r "
                                                       "ON r.attempt = a.id WHERE a.live = 1"));
  for (;;) {
    GT_ASSIGN_OR_RETURN(bool row, s.Step());
    if (!row) return OkStatus();
    GT_ASSIGN_OR_RETURN(rows::ReformRow read, rows::ReadReform(s));
    auto attempt = state->attempts.find(read.uid);
    size_t born = read.reform.born.size();
    if (attempt == state->attempts.end() || (born != 0 && born % attempt->second.members.size() != 0)) return rows::Torn("reform");
    attempt->second.reform = std::move(read.reform);
  }
}

Status LoadTasks(sqlite::Database* db, const char* sql, ClusterState* state) {
  GT_ASSIGN_OR_RETURN(sqlite::Statement s, db->Prepare(sql));
  for (;;) {
    GT_ASSIGN_OR_RETURN(bool row, s.Step());
    if (!row) return OkStatus();
    GT_ASSIGN_OR_RETURN(Task task, rows::ReadTask(s));
    TaskId id = task.id;
    state->tasks.emplace(id, std::move(task));
  }
}

// Tasks of arrays that were cancelled before their turn.
Status LoadSkipped(sqlite::Database* db, ClusterState* state) {
  GT_ASSIGN_OR_RETURN(sqlite::Statement s, db->Prepare("SELECT job.id, task.id FROM job CROSS JOIN task ON task.id BETWEEN "
                                                       "(job.id << 20 | job.next_index) AND (job.id << 20 | 0xFFFFF) "
                                                       "WHERE job.final_state IS NULL AND job.is_array = 1"));
  for (;;) {
    GT_ASSIGN_OR_RETURN(bool row, s.Step());
    if (!row) return OkStatus();
    auto job = state->jobs.find({static_cast<uint64_t>(s.Int(0))});
    if (job != state->jobs.end()) job->second.skipped.insert(rows::TaskOf(s.Int(1)).index);
  }
}

}  // namespace

Result<ClusterState> LoadState(sqlite::Database* db) {
  ClusterState state;
  GT_RETURN_IF_ERROR(LoadMeta(db, &state));
  GT_RETURN_IF_ERROR(LoadNodes(db, &state));
  GT_RETURN_IF_ERROR(LoadJobs(db, &state));
  GT_RETURN_IF_ERROR(LoadSkipped(db, &state));
  GT_RETURN_IF_ERROR(LoadAttempts(db, &state));
  GT_RETURN_IF_ERROR(LoadReforms(db, &state));
  // A task that is not final waits, or has a live attempt.
  GT_RETURN_IF_ERROR(LoadTasks(db, "SELECT " GT_TASK_COLUMNS " FROM task WHERE state = 0", &state));
  GT_RETURN_IF_ERROR(LoadTasks(db, "SELECT " GT_TASK_COLUMNS " FROM attempt AS a CROSS JOIN task ON task.id = a.id >> 10 "
                                   "WHERE a.live = 1 AND task.state = 1", &state));
  for (const auto& [uid, attempt] : state.attempts) {
    auto task = state.tasks.find(attempt.task);
    if (task != state.tasks.end() && task->second.state == TaskState::kActive && task->second.attempts == attempt.number)
      task->second.attempt = uid;
  }
  for (const auto& [id, task] : state.tasks) {
    if (task.state == TaskState::kActive && task.attempt.empty())
      return Status(Code::kDataLoss, "task " + ToString(id, true) + " is active and has no attempt");
    if (state.FindJob(id.job) == nullptr)
      return Status(Code::kDataLoss, "task " + ToString(id, true) + " is not final and its job is");
  }
  return state;
}

}  // namespace gt::queries
