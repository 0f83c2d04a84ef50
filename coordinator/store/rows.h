// Between rows and the model: one pair of functions a table, column order in one place. Internal to this room.
#pragma once
#include <string>

#include "common/base/vocabulary.h"
#include "coordinator/core/history.h"
#include "coordinator/core/model.h"
#include "coordinator/core/policy.h"
#include "coordinator/store/sqlite.h"

namespace gt::rows {

inline Status Torn(const char* table) {
  return {Code::kDataLoss, std::string("a row of table ") + table + " cannot be understood"};
}
template <typename Enum>
int64_t Number(Enum value) {
  return static_cast<int64_t>(value);
}
template <typename Enum>
bool ReadEnum(int64_t value, Enum last, Enum* out) {  // false: not one of the enum
  if (value < 0 || value > Number(last)) return false;
  *out = static_cast<Enum>(value);
  return true;
}

// The integer keys of tasks and attempts. Job checks keep indices, the policy keeps attempts below these bounds.
constexpr int kIndexBits = 20, kNumberBits = 10;
constexpr uint32_t kMaxIndex = (1u << kIndexBits) - 1, kMaxNumber = (1u << kNumberBits) - 1;
static_assert(kMaxArrayIndex <= kMaxIndex && Policy{}.max_attempts <= kMaxNumber);
inline int64_t TaskKey(TaskId id) { return static_cast<int64_t>(id.job.value << kIndexBits | id.index); }
inline int64_t AttemptKey(TaskId id, uint32_t number) { return TaskKey(id) << kNumberBits | number; }
inline TaskId TaskOf(int64_t task_key) {
  return {{static_cast<uint64_t>(task_key) >> kIndexBits}, static_cast<uint32_t>(task_key & kMaxIndex)};
}

// Keeps packed columns alive until the statement has run.
struct Scratch { std::string a, b, c, d; };

// --- job: parameters 1..35 in the order of the table. Reading expects these columns first; no spec.
#define GT_JOB_COLUMNS                                                                                                 \
  "id, client_key, name, owner, nodes, cpus, memory, gpus, gpu_models_pack, gpu_memory, priority, is_array, first, "   \
  "last, ranks_per_node, contract, retry_user, retry_infra, grace, stop_after, submitted, queued, active, succeeded, " \
  "failed, cancelled, next_index, cancel_requested, cancel_reason, started, ended, max_attempt, cause, message, exit_code"
constexpr int kJobColumnCount = 35;
void BindJob(sqlite::Statement* s, const Job& job, Scratch* scratch);     // and 36: final_state
void BindJobChange(sqlite::Statement* s, const Job& job);                 // 1: id, 2..15: what changes, 16: final_state
Result<Job> ReadJob(const sqlite::Statement& s);

// --- task: parameters 1..11
#define GT_TASK_COLUMNS                                                                                              \
  "task.id, task.state, task.attempts, task.user_failures, task.infra_failures_pack, task.avoid, "                   \
  "task.not_before, task.checkpoint, task.checkpoint_step, task.cause, task.message"
void BindTask(sqlite::Statement* s, const Task& task, Scratch* scratch);
Result<Task> ReadTask(const sqlite::Statement& s);  // without `attempt`

// --- attempt: parameters 1..29. Reading expects the failure's columns after it; a gang's members are read apart.
#define GT_ATTEMPT_COLUMNS                                                                                               \
  "a.id, a.uid, a.phase, a.live, a.cpus, a.memory, a.rendezvous, a.generation, a.addr, a.port, "                         \
  "a.placed, a.running, a.ended, a.stop_cause, a.stop_grace, a.cause, a.message, a.charged, a.exit_code, a.resume_from, " \
  "a.resume_step, a.progress_pack, a.members, a.node, a.member_phase, a.gpu_uuids_pack, a.gone, a.lost, a.exit_record, " \
  "f.cause, f.rank, f.node, f.node_name, f.code, f.signal, f.message, f.tail"
#define GT_ATTEMPT_FROM " FROM attempt AS a LEFT JOIN failure AS f ON f.attempt = a.id "
void BindAttempt(sqlite::Statement* s, const Attempt& attempt, Scratch* scratch);
void BindAttemptChange(sqlite::Statement* s, const Attempt& attempt, Scratch* scratch);  // 1: id, 2..19: what changes
bool IsLive(const Attempt& attempt);
struct AttemptRow {
  Attempt attempt;
  int64_t members = 0;   // more than one: attempt.members is still empty
};
Result<AttemptRow> ReadAttempt(const sqlite::Statement& s);

// --- member: 1..8, failure: 1..9
#define GT_MEMBER_COLUMNS "node, phase, gpu_uuids_pack, gone, lost, exit_record"
void BindMember(sqlite::Statement* s, const Attempt& attempt, int group_rank, Scratch* scratch);
Result<Member> ReadMember(const sqlite::Statement& s);
void BindFailure(sqlite::Statement* s, const Attempt& attempt);

// --- reform: 1..6. Reading expects the attempt's uid before them.
#define GT_REFORM_COLUMNS "r.formed, r.born_pack, r.former_pack, r.since, r.why"
void BindReform(sqlite::Statement* s, const Attempt& attempt, Scratch* scratch);
struct ReformRow { Uid uid; Reform reform; };
Result<ReformRow> ReadReform(const sqlite::Statement& s);

// --- node: 1..10
#define GT_NODE_COLUMNS "id, name, uid, boot_id, version, state, draining, drain_reason, drain_actor, inventory_pack"
void BindNode(sqlite::Statement* s, const Node& node, Scratch* scratch);
Result<Node> ReadNode(const sqlite::Statement& s);

}  // namespace gt::rows
