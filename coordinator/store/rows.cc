#include "coordinator/store/rows.h"

#include "coordinator/store/pack.h"
#include "coordinator/store/store.h"

namespace gt {

namespace rows {
namespace {

int BindCounts(sqlite::Statement* s, int i, const Job& job) {
  for (uint32_t count : {job.counts.queued, job.counts.active, job.counts.succeeded, job.counts.failed, job.counts.cancelled})
    s->Bind(i++, int64_t{count});
  s->Bind(i++, int64_t{job.next_index});
  s->Bind(i++, int64_t{job.cancel_requested});
  s->BindOptional(i++, job.cancel_reason);
  s->Bind(i++, job.started_wall);
  s->Bind(i++, job.ended_wall);
  s->Bind(i++, int64_t{job.max_attempt});
  s->Bind(i++, Number(job.cause));
  s->BindOptional(i++, job.message);
  s->Bind(i++, int64_t{job.exit_code});
  if (job.ended_wall == 0) s->BindNull(i++);
  else s->Bind(i++, Number(JobState(job)));
  return i;
}

}  // namespace

void BindJob(sqlite::Statement* s, const Job& job, Scratch* scratch) {
  scratch->a = pack::Strings(job.shape.gpu_models);
  int i = 1;
  s->Bind(i++, static_cast<int64_t>(job.id.value));
  s->Bind(i++, job.client_key);
  s->Bind(i++, job.name);
  s->Bind(i++, job.owner);
  s->Bind(i++, int64_t{job.shape.nodes});
  s->Bind(i++, int64_t{job.shape.cpus});
  s->Bind(i++, job.shape.memory);
  s->Bind(i++, int64_t{job.shape.gpus});
  s->BindBlob(i++, scratch->a);
  s->Bind(i++, job.shape.gpu_memory);
  s->Bind(i++, int64_t{job.priority});
  s->Bind(i++, int64_t{job.array});
  s->Bind(i++, int64_t{job.range.first});
  s->Bind(i++, int64_t{job.range.last});
  s->Bind(i++, int64_t{job.ranks_per_node});
  s->Bind(i++, int64_t{job.contract});
  s->Bind(i++, int64_t{job.retry.user});
  s->Bind(i++, int64_t{job.retry.infra});
  s->Bind(i++, job.grace);
  s->Bind(i++, job.stop_after);
  s->Bind(i++, job.submitted_wall);
  BindCounts(s, i, job);
}

void BindJobChange(sqlite::Statement* s, const Job& job) {
  s->Bind(1, static_cast<int64_t>(job.id.value));
  BindCounts(s, 2, job);
}

Result<Job> ReadJob(const sqlite::Statement& s) {
  Job job;
  int i = 0;
  job.id = {static_cast<uint64_t>(s.Int(i++))};
  job.client_key = s.Text(i++);
  job.name = s.Text(i++);
  job.owner = s.Text(i++);
  job.shape.nodes = static_cast<int32_t>(s.Int(i++));
  job.shape.cpus = static_cast<int32_t>(s.Int(i++));
  job.shape.memory = s.Int(i++);
  job.shape.gpus = static_cast<int32_t>(s.Int(i++));
  if (!pack::ReadStrings(s.View(i++), &job.shape.gpu_models)) return Torn("job");
  job.shape.gpu_memory = s.Int(i++);
  job.priority = static_cast<int32_t>(s.Int(i++));
  job.array = s.Int(i++) != 0;
  job.range.first = static_cast<uint32_t>(s.Int(i++));
  job.range.last = static_cast<uint32_t>(s.Int(i++));
  job.ranks_per_node = static_cast<int32_t>(s.Int(i++));
  job.contract = s.Int(i++) != 0;
  job.retry.user = static_cast<int32_t>(s.Int(i++));
  job.retry.infra = static_cast<int32_t>(s.Int(i++));
  job.grace = s.Int(i++);
  job.stop_after = s.Int(i++);
  job.submitted_wall = s.Int(i++);
  for (uint32_t* count : {&job.counts.queued, &job.counts.active, &job.counts.succeeded, &job.counts.failed, &job.counts.cancelled})
    *count = static_cast<uint32_t>(s.Int(i++));
  job.next_index = static_cast<uint32_t>(s.Int(i++));
  job.cancel_requested = s.Int(i++) != 0;
  job.cancel_reason = s.Text(i++);
  job.started_wall = s.Int(i++);
  job.ended_wall = s.Int(i++);
  job.max_attempt = static_cast<uint32_t>(s.Int(i++));
  if (!ReadEnum(s.Int(i++), Cause::kTimeLimit, &job.cause)) return Torn("job");
  job.message = s.Text(i++);
  job.exit_code = static_cast<int32_t>(s.Int(i++));
  return job;
}

void BindTask(sqlite::Statement* s, const Task& task, Scratch* scratch) {
  scratch->a = pack::Times(task.infra_failures_wall);
  s->Bind(1, TaskKey(task.id));
  s->Bind(2, Number(task.state));
  s->Bind(3, int64_t{task.attempts});
  s->Bind(4, int64_t{task.user_failures});
  s->BindBlob(5, scratch->a);
  s->Bind(6, static_cast<int64_t>(task.avoid.value));
  s->Bind(7, task.not_before_wall);
  s->BindOptional(8, task.checkpoint);
  s->Bind(9, static_cast<int64_t>(task.checkpoint_step));
  s->Bind(10, Number(task.cause));
  s->BindOptional(11, task.message);
}

Result<Task> ReadTask(const sqlite::Statement& s) {
  Task task;
  task.id = TaskOf(s.Int(0));
  task.attempts = static_cast<uint32_t>(s.Int(2));
  task.user_failures = static_cast<int32_t>(s.Int(3));
  task.avoid = {static_cast<uint64_t>(s.Int(5))};
  task.not_before_wall = s.Int(6);
  task.checkpoint = s.Text(7);
  task.checkpoint_step = static_cast<uint64_t>(s.Int(8));
  task.message = s.Text(10);
  bool ok = ReadEnum(s.Int(1), TaskState::kCancelled, &task.state) && ReadEnum(s.Int(9), Cause::kTimeLimit, &task.cause) &&
            pack::ReadTimes(s.View(4), &task.infra_failures_wall);
  if (!ok) return Torn("task");
  return task;
}

void BindNode(sqlite::Statement* s, const Node& node, Scratch* scratch) {
  scratch->a = pack::OfUid(node.uid);
  scratch->b = pack::OfInventory(node.inventory);
  s->Bind(1, static_cast<int64_t>(node.id.value));
  s->Bind(2, node.name);
  s->BindBlob(3, scratch->a);
  s->Bind(4, node.boot_id);
  s->Bind(5, node.version);
  s->Bind(6, Number(node.state));
  s->Bind(7, int64_t{node.draining});
  s->BindOptional(8, node.drain_reason);
  s->BindOptional(9, node.drain_actor);
  s->BindBlob(10, scratch->b);
}

Result<Node> ReadNode(const sqlite::Statement& s) {
  Node node;
  node.id = {static_cast<uint64_t>(s.Int(0))};
  node.name = s.Text(1);
  node.boot_id = s.Text(3);
  node.version = s.Text(4);
  node.draining = s.Int(6) != 0;
  node.drain_reason = s.Text(7);
  node.drain_actor = s.Text(8);
  bool ok = pack::ReadUid(s.View(2), &node.uid) && ReadEnum(s.Int(5), NodeState::kLost, &node.state) &&
            pack::ReadInventory(s.View(9), &node.inventory);
  if (!ok) return Torn("node");
  return node;
}

}  // namespace rows
}  // namespace gt
