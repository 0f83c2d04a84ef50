#include <algorithm>

#include "coordinator/core/apply.h"

namespace gt {
namespace {

std::string Say(const std::string& what, JobId job) { return "job " + std::to_string(job.value) + ": " + what; }

std::string CheckJob(const ClusterState& state, const Job& job) {
  const TaskCounts& c = job.counts;
  if (c.queued + c.active + c.succeeded + c.failed + c.cancelled != job.range.size()) return Say("counts do not sum up", job.id);
  uint32_t queued = job.range.last + 1 - job.next_index - static_cast<uint32_t>(job.skipped.size()), active = 0;
  for (uint32_t index : job.live_tasks) {
    const Task* task = state.FindTask({job.id, index});
    if (task == nullptr || IsFinal(task->state)) return Say("lists a task that does not live", job.id);
    if (index >= job.next_index) return Say("has a task beyond its next index", job.id);
    queued += task->state == TaskState::kQueued;
    active += task->state == TaskState::kActive;
  }
  if (!job.skipped.empty() && *job.skipped.begin() <= job.next_index) return Say("passed over a task that is not ahead", job.id);
  if (queued != c.queued) return Say("queued tasks are miscounted", job.id);
  if (active != c.active) return Say("active tasks are miscounted", job.id);
  if (c.queued + c.active == 0) return Say("is over but still here", job.id);
  return "";
}

std::string CheckTask(const ClusterState& state, const Task& task) {
  const Job* job = state.FindJob(task.id.job);
  if (job == nullptr || !job->live_tasks.contains(task.id.index)) return Say("does not list its task", task.id.job);
  if (task.state != TaskState::kActive) return task.attempt.empty() ? "" : Say("a waiting task has an attempt", task.id.job);
  const Attempt* attempt = state.FindAttempt(task.attempt);
  if (attempt == nullptr || attempt->task != task.id || attempt->phase == AttemptPhase::kEnded)
    return Say("an active task has no live attempt", task.id.job);
  return attempt->number == task.attempts ? "" : Say("attempt numbers disagree", task.id.job);
}

std::string CheckReform(const Attempt& attempt) {
  const Reform& reform = attempt.reform;
  Generation now = attempt.rendezvous.generation;
  std::set<NodeId> nodes = reform.former;
  for (const Member& member : attempt.members)
    if (!nodes.insert(member.node).second) return " has a node twice, or one that lost its part";
  for (Generation born : reform.born)
    if (born > now) return " has a rank of a later generation";
  if (reform.born.size() % attempt.members.size() != 0) return " has nodes with fewer ranks than others";
  if (reform.formed > now || (now.value > 1 && reform.formed.value == 0)) return " re-forms and never was formed";
  if (!reform.underway()) return attempt.phase == AttemptPhase::kRunning && reform.formed.value > 0 && reform.formed != now ? " waits for a generation without knowing" : "";
  if (attempt.phase != AttemptPhase::kRunning || attempt.deadline == kNever || reform.formed == now) return " re-forms though it does not run, is formed, or for ever";
  return "";
}

std::string CheckAttempt(const ClusterState& state, const Attempt& attempt) {
  if (attempt.phase == AttemptPhase::kEnded) return attempt.AllGone() ? "attempt " + ToHex(attempt.uid) + " is over but still here" : "";
  const Task* task = state.FindTask(attempt.task);
  if (task == nullptr || task->attempt != attempt.uid) return "attempt " + ToHex(attempt.uid) + " is live and nobody's";
  if (std::string broken = CheckReform(attempt); !broken.empty()) return "attempt " + ToHex(attempt.uid) + broken;
  if (attempt.phase != AttemptPhase::kRunning && attempt.deadline == kNever)
    return "attempt " + ToHex(attempt.uid) + " is " + std::string(Name(attempt.phase)) + " without a deadline";
  return "";
}

std::string CheckNode(const ClusterState& state, const Node& node) {
  int32_t cpus = node.inventory.cpus;
  int64_t memory = node.inventory.memory;
  std::set<std::string> used;
  for (const Uid& uid : node.held) {
    const Attempt* attempt = state.FindAttempt(uid);
    const Member* member = attempt == nullptr ? nullptr : attempt->FindMember(node.id);
    if (member == nullptr || member->gone) return "node " + node.name + " holds what is not there";
    cpus -= attempt->cpus;
    memory -= attempt->memory;
    for (const std::string& gpu : member->gpu_uuids)
      if (!used.insert(gpu).second) return "GPU " + gpu + " of node " + node.name + " is in two live attempts";
  }
  if (cpus != node.cpus_free || memory != node.memory_free) return "node " + node.name + ": free resources are miscounted";
  int32_t gpus_free = 0;
  for (const Gpu& gpu : node.gpus) {
    if (gpu.user.empty() == used.contains(gpu.uuid)) return "GPU " + gpu.uuid + " of node " + node.name + " has the wrong user";
    gpus_free += gpu.user.empty();
  }
  if (state.spare.contains(SpareOf(node)) == (node.state == NodeState::kLost)) return "node " + node.name + ": is not where it belongs among all";
  return gpus_free == node.gpus_free ? "" : "node " + node.name + ": free GPUs are miscounted";
}

std::string CheckReady(const ClusterState& state) {
  size_t waiting = 0;
  for (const auto& [priority, buckets] : state.ready) {
    for (const auto& [shape, bucket] : buckets) {
      if (bucket.entries.empty()) return "an empty bucket";
      waiting += bucket.entries.size();
      for (const ReadyKey& key : bucket.entries) {
        const Job* job = state.FindJob(key.job);
        if (job == nullptr || job->priority != priority || job->shape != shape) return "a queue entry of no job";
        const Task* task = state.FindTask({key.job, key.index});
        bool rest = key.index == job->next_index && job->HasUnplaced();
        if (!rest && (task == nullptr || task->state != TaskState::kQueued || task->not_before != 0)) return Say("a queue entry that must not start", key.job);
      }
    }
  }
  size_t expected = 0;
  for (const auto& [id, job] : state.jobs) expected += job.HasUnplaced();
  for (const auto& [id, task] : state.tasks) expected += task.state == TaskState::kQueued && task.not_before == 0;
  return waiting == expected ? "" : "the queue has " + std::to_string(waiting) + " entries, " + std::to_string(expected) + " wait";
}

template <typename Map>
std::string CheckAll(const ClusterState& state, const Map& map, std::string (*check)(const ClusterState&, const typename Map::mapped_type&)) {
  for (const auto& [key, value] : map)
    if (std::string broken = check(state, value); !broken.empty()) return broken;
  return "";
}

}  // namespace

std::string BrokenInvariant(const ClusterState& state) {
  auto listed = std::count_if(state.nodes.begin(), state.nodes.end(), [](const auto& n) { return n.second.state != NodeState::kLost; });
  if (state.spare.size() != static_cast<size_t>(listed)) return "a node is listed more than once";
  for (const std::string& broken :
       {CheckAll(state, state.jobs, CheckJob), CheckAll(state, state.tasks, CheckTask), CheckAll(state, state.attempts, CheckAttempt),
        CheckAll(state, state.nodes, CheckNode), CheckReady(state)})
    if (!broken.empty()) return broken;
  return "";
}

}  // namespace gt
