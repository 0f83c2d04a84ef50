#include <algorithm>

#include "common/os/net.h"
#include "common/text/text.h"
#include "coordinator/core/decide.h"
#include "coordinator/service/convert.h"
#include "coordinator/store/store.h"

namespace gt {
namespace {

constexpr size_t kMaxLine = 1000;
constexpr int kLastLines = 20;

wire::WireTaskState ToWire(TaskState state) { return static_cast<wire::WireTaskState>(state); }
wire::WirePhase ToWire(AttemptPhase phase) { return static_cast<wire::WirePhase>(phase); }
wire::WireCause ToWire(Cause cause) { return static_cast<wire::WireCause>(cause); }

std::string NameOf(const NodeNames& names, NodeId id) {
  auto it = names.find(id);
  return it == names.end() ? "node " + std::to_string(id.value) : it->second;
}

void AddLastLines(const std::string& tail, wire::FailedRank* out) {
  std::vector<std::string_view> lines;
  std::string_view rest = tail;
  while (!rest.empty() && rest.back() == '\n') rest.remove_suffix(1);
  while (!rest.empty() && lines.size() < kLastLines) {
    size_t start = rest.rfind('\n');
    lines.push_back(start == rest.npos ? rest : rest.substr(start + 1));
    rest = start == rest.npos ? std::string_view() : rest.substr(0, start);
  }
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) out->add_last_lines(Clean(*line, kMaxLine));
}

void FillFailure(const Failure& failure, wire::FailedRank* out) {
  if (failure.rank >= 0) out->set_rank(static_cast<uint32_t>(failure.rank));
  out->set_node(failure.node_name);
  out->set_code(failure.code);
  if (failure.signal != 0) out->set_signal(failure.signal);
  out->set_message(failure.message);
  AddLastLines(failure.tail, out);
}

// What printing needs of a record, safe to show; the launcher's words may be anything.
void FillRankExits(const std::string& stored, wire::MemberDetail* out) {
  wire::ExitRecord record = ParseExit(stored);
  for (wire::RankExit& rank : *record.mutable_ranks()) {
    rank.set_message(Clean(rank.message(), kMaxLine));
    out->add_ranks()->Swap(&rank);
  }
}

void FillCommon(const Job& job, wire::JobSummary* out) {
  out->set_job_id(job.id.value);
  out->set_name(job.name);
  out->set_owner(job.owner);
  out->set_nodes(job.shape.nodes);
  out->set_gpus_per_node(job.shape.gpus);
  out->set_priority(job.priority);
  out->set_submitted_ms(job.submitted_wall);
  out->set_array(job.array);
  out->set_cancel_requested(job.cancel_requested);
}

}  // namespace

void FillSummary(const Job& job, wire::JobSummary* out) {
  FillCommon(job, out);
  TaskState state = JobState(job);
  out->set_state(ToWire(state));
  if (IsFinal(state)) {
    out->set_reason(job.message);
    out->set_cause(ToWire(job.cause));
    out->set_ended_ms(job.ended_wall);
  }
  if (job.started_wall != 0) out->set_started_ms(job.started_wall);
  if (job.exit_code >= 0) out->set_exit_code(job.exit_code);
  out->set_attempts(job.max_attempt);
  out->set_tasks(job.range.size());
  out->set_queued(job.counts.queued);
  out->set_active(job.counts.active);
  out->set_succeeded(job.counts.succeeded);
  out->set_failed(job.counts.failed);
  out->set_cancelled(job.counts.cancelled);
}

void FillTaskSummary(const Job& job, uint32_t index, const Task* task, const Attempt* newest, wire::JobSummary* out) {
  FillCommon(job, out);
  out->set_tasks(1);
  TaskState state = TaskState::kQueued;
  if (task != nullptr) state = task->state;
  else if (job.cancel_requested && index < job.next_index) state = TaskState::kCancelled;
  out->set_state(ToWire(state));
  out->set_queued(state == TaskState::kQueued);
  out->set_active(state == TaskState::kActive);
  out->set_succeeded(state == TaskState::kSucceeded);
  out->set_failed(state == TaskState::kFailed);
  out->set_cancelled(state == TaskState::kCancelled);
  if (task != nullptr) out->set_attempts(task->attempts);
  if (newest != nullptr && newest->running_wall != 0) out->set_started_ms(newest->running_wall);
  if (!IsFinal(state)) return;
  out->set_cause(ToWire(task != nullptr ? task->cause : Cause::kCancelled));
  out->set_reason(task != nullptr ? task->message : job.cancel_reason);
  if (newest == nullptr) return;
  if (newest->ended_wall != 0) out->set_ended_ms(newest->ended_wall);
  if (newest->exit_code >= 0) out->set_exit_code(newest->exit_code);
}

void FillFromAttempt(const Attempt& attempt, const NodeNames& names, wire::JobSummary* out) {
  if (out->state() == wire::TASK_ACTIVE) out->set_phase(ToWire(attempt.phase));
  for (const Member& member : attempt.members) out->add_node_names(NameOf(names, member.node));
  if (attempt.progress.at_wall != 0) FillProgress(attempt.progress, out->mutable_progress());
}

void FillProgress(const Progress& progress, wire::Progress* out) {
  out->set_step(progress.step);
  out->set_total_steps(progress.total_steps);
  out->set_samples(progress.samples);
  out->set_phase(progress.phase);
  for (const auto& [key, value] : progress.metrics) (*out->mutable_metrics())[key] = value;
  out->set_at_ms(progress.at_wall);
}

void FillTask(const Task& task, wire::TaskDetail* out) {
  out->set_index(task.id.index);
  out->set_state(ToWire(task.state));
  if (task.cause != Cause::kNone) out->set_cause(ToWire(task.cause));
  if (!task.message.empty()) out->set_reason(task.message);
}

void FillAttempt(const Attempt& attempt, const NodeNames& names, wire::AttemptDetail* out) {
  ToWire(attempt.uid, out->mutable_uid());
  out->set_number(attempt.number);
  out->set_phase(ToWire(attempt.phase));
  out->set_generation(attempt.rendezvous.generation.value);
  out->set_placed_ms(attempt.placed_wall);
  if (attempt.running_wall != 0) out->set_running_ms(attempt.running_wall);
  if (attempt.ended_wall != 0) out->set_ended_ms(attempt.ended_wall);
  if (attempt.cause != Cause::kNone) out->set_cause(ToWire(attempt.cause));
  out->set_message(attempt.message);
  out->set_charged(attempt.charged);
  uint32_t group_rank = 0;
  for (const Member& member : attempt.members) {
    wire::MemberDetail* detail = out->add_members();
    detail->set_node(NameOf(names, member.node));
    detail->set_group_rank(group_rank++);
    detail->set_phase(ToWire(member.phase));
    for (const std::string& gpu : member.gpu_uuids) detail->add_gpu_uuids(gpu);
    FillRankExits(member.exit, detail);
  }
  if (attempt.failure.cause != Cause::kNone) FillFailure(attempt.failure, out->mutable_first_failure());
  if (!attempt.rendezvous.addr.empty()) out->set_master(FormatHostPort(attempt.rendezvous.addr, attempt.rendezvous.port));
}

void FillNode(const Node& node, const Policy& policy, Now now, wire::NodeSummary* out) {
  out->set_name(node.name);
  bool suspect = node.state == NodeState::kUp && IsSuspect(node, policy, now);
  out->set_state(suspect ? "SUSPECT" : std::string(Name(node.state)));
  out->set_draining(node.draining);
  out->set_schedulable(node.state == NodeState::kUp && node.connected && node.snapshot_complete && !node.draining && node.stale.empty());
  out->set_drain_reason(node.drain_reason);
  out->set_cpus(node.inventory.cpus);
  out->set_cpus_free(node.cpus_free);
  out->set_memory(node.inventory.memory);
  out->set_memory_free(node.memory_free);
  for (const Gpu& gpu : node.inventory.gpus) {
    wire::GpuInfo* info = out->add_gpus();
    info->set_uuid(gpu.uuid);
    info->set_model(gpu.model);
    info->set_memory(gpu.memory);
  }
  out->set_gpus_free(node.gpus_free);
  if (node.last_heard_wall != 0) out->set_last_heard_ms(node.last_heard_wall);
  out->set_address(node.inventory.address);
  out->set_version(node.version);
  out->set_containment(node.inventory.containment);
  out->set_attempts(static_cast<uint32_t>(node.held.size()));
  for (const auto& [key, value] : node.inventory.labels) (*out->mutable_labels())[key] = value;
  if (!node.stale.empty())
    out->set_out_of_service(std::to_string(node.stale.size()) + " attempts that nobody wants still live there: " + ToHex(*node.stale.begin()));
}

}  // namespace gt
