#include "tests/unit/store/script.h"

#include "coordinator/core/touched.h"

namespace gt {

void Script::Do(Event event) {
  Apply(&state, event);
  Touch(event, state, &batch);
  batch.events.push_back(std::move(event));
}

NodeId Script::AddNode(const std::string& name, int gpus) {
  Inventory inventory{.cpus = 1000, .memory = 1ll << 50, .address = "10.0.0.1", .containment = "cgroup2", .labels = {{"zone", "a"}}};
  for (int i = 0; i < gpus; i++)
    inventory.gpus.push_back({.uuid = "GPU-" + name + std::to_string(i), .model = "h100", .memory = 80ll << 30});
  NodeId id = state.next_node;
  Do(NodeJoined{.node = id, .name = name, .uid = {rng_.Next(), rng_.Next()}, .boot_id = "boot-" + name, .version = "0.1.0",
                .inventory = inventory, .at_wall = wall, .lease_until = 1000});
  return id;
}

JobId Script::Submit(const std::string& name, uint32_t tasks, int nodes, const std::string& owner) {
  Job job{.id = state.next_job, .client_key = "key-" + std::to_string(state.next_job.value), .name = name, .owner = owner,
          .spec = std::string("spec\0of ", 8) + name, .submitted_wall = wall};
  job.shape = {.nodes = nodes, .memory = 1 << 30, .gpu_models = {"h100", "a100"}, .gpu_memory = 40ll << 30};
  job.array = tasks > 1;
  job.range = {.first = 0, .last = tasks - 1};
  job.retry = {.user = 2, .infra = 7};
  JobId id = job.id;
  Do(JobSubmitted{std::move(job)});
  return id;
}

Uid Script::Place(TaskId id, const std::vector<NodeId>& nodes, std::vector<std::string> gpus) {
  const Task* task = state.FindTask(id);
  if (task != nullptr && task->not_before != 0) Do(TaskReady{id});
  Attempt attempt{.uid = {rng_.Next(), rng_.Next()}, .task = id, .number = task == nullptr ? 1 : task->attempts + 1, .cpus = 1,
                  .memory = 1 << 30, .placed_wall = wall, .deadline = 5000};
  for (NodeId node : nodes) attempt.members.push_back({.node = node});
  for (size_t i = 0; i < gpus.size(); i++) attempt.members[i % nodes.size()].gpu_uuids.push_back(gpus[i]);
  Uid uid = attempt.uid;
  Do(AttemptPlaced{std::move(attempt)});
  return uid;
}

void Script::Run(Uid uid) {
  Attempt attempt = state.attempts.at(uid);
  for (const Member& member : attempt.members) Do(MemberAdvanced{uid, member.node, AttemptPhase::kStarting});
  Do(AttemptStarting{uid});
  for (const Member& member : attempt.members) Do(MemberAdvanced{uid, member.node, AttemptPhase::kRunning});
  Do(RendezvousReady{uid, attempt.rendezvous.generation, "10.0.0.1", 29500});
  Do(AttemptRunning{uid, wall});
}

void Script::Reform(Uid uid, NodeId to) {
  const Attempt& attempt = state.attempts.at(uid);
  auto last = static_cast<uint32_t>(attempt.members.size() - 1);
  Generation now = attempt.rendezvous.generation, next{now.value + 1};
  Do(GangFormed{uid, now});
  std::vector<Generation> born(attempt.members.size(), now);
  born[last] = next;
  Do(ReformStarted{.uid = uid, .generation = next, .born = born, .moved = {{last, {.node = to, .gpu_uuids = {"GPU-n30"}}}},
                   .why = "node n2 was lost", .charged = Budget::kInfra, .at_wall = wall, .deadline = 9000});
}

void Script::Fail(Uid uid, Cause cause) {
  Do(FailureSeen{uid, {.cause = cause, .rank = 3, .node = NodeId{1}, .node_name = "n1", .code = 9, .signal = 11,
                       .message = "rank 3 died", .tail = std::string("last\nline\0s", 11)}});
}

void Script::Gone(Uid uid, NodeId node) {
  Do(MemberGone{.uid = uid, .node = node, .lost = node.value % 2 == 0, .exit = "exit record " + std::to_string(node.value),
                .exit_code = 3});
}

void Script::End(Uid uid, Cause cause, bool all_gone) {
  Attempt attempt = state.attempts.at(uid);
  Do(ProgressMade{uid, {.step = 100, .total_steps = 200, .samples = 6400, .phase = "train",
                        .metrics = {{"loss", 0.25}}, .at_wall = wall}});
  if (all_gone)
    for (const Member& member : attempt.members) Gone(uid, member.node);
  std::string message = cause == Cause::kSucceeded ? "" : "it ended so";
  Do(AttemptEnded{.uid = uid, .cause = cause, .message = message, .charged = true, .at_wall = wall});
}

void Script::Retry(TaskId id) {
  Do(CheckpointAccepted{id, state.tasks.at(id).attempt, "/ckpt/" + std::to_string(id.index), 50});
  Do(TaskRequeued{.task = id, .charged = Budget::kInfra, .avoid = NodeId{1}, .not_before_wall = wall + 1000,
                  .not_before = 1000, .at_wall = wall});
}

void Script::FinishJob(JobId id) {
  const Job& job = state.jobs.at(id);
  if (job.counts.queued + job.counts.active == 0) Do(JobFinished{id, wall});
}

void Script::Finish(TaskId id, TaskState final_state) {
  Cause cause = final_state == TaskState::kSucceeded ? Cause::kSucceeded : Cause::kExitNonzero;
  Do(TaskFinished{.task = id, .state = final_state, .cause = cause, .message = "done", .exit_code = 3, .at_wall = wall});
  FinishJob(id.job);
}

void Script::Cancel(JobId id) {
  Do(JobCancelRequested{id, "not needed", "ada"});
  const Job& job = state.jobs.at(id);
  if (job.next_index <= job.range.last) Do(UnplacedCancelled{id, job.range.last + 1 - job.next_index, wall});
  FinishJob(id);
}

void Script::Note(JobId job, const std::string& kind, const std::string& text) {
  batch.history.push_back({.job = job, .task_index = 2, .attempt = 1, .kind = kind, .node = "n1", .text = text});
}

void Script::WholeLife(TaskId task, NodeId node, TaskState final_state) {
  Uid uid = Place(task, {node});
  Run(uid);
  End(uid, final_state == TaskState::kSucceeded ? Cause::kSucceeded : Cause::kExitNonzero);
  Finish(task, final_state);
}

Status Script::Commit(Store* store) {
  batch.now.wall = wall;
  batch.Seal();
  GT_RETURN_IF_ERROR(store->Commit(batch, state));
  Forget();
  return OkStatus();
}

void Script::Forget() {
  batch = {};
  std::erase_if(state.attempts, [](const auto& e) { return e.second.phase == AttemptPhase::kEnded && e.second.AllGone(); });
  std::erase_if(state.tasks, [](const auto& e) { return IsFinal(e.second.state); });
  std::erase_if(state.jobs, [&](const auto& e) { return e.second.ended_wall != 0 && state.keys.erase(e.second.client_key) == 1; });
}

}  // namespace gt
