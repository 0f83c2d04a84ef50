#include "coordinator/core/place/place.h"

#include <algorithm>
#include <tuple>

namespace gt {
namespace {

// A bucket's place in the order of one priority: its first entry.
struct Head {
  ReadyKey key;
  const Shape* shape = nullptr;
  auto operator<=>(const Head& other) const { return key <=> other.key; }
};

Attempt MakeAttempt(Turn& turn, const Job& job, uint32_t index, const std::vector<NodeId>& nodes) {
  const Task* task = turn.state.FindTask({job.id, index});
  Attempt attempt;
  attempt.uid = turn.new_uid();
  attempt.task = {job.id, index};
  attempt.number = (task == nullptr ? 0 : task->attempts) + 1;
  attempt.cpus = job.shape.cpus;
  attempt.memory = job.shape.memory;
  attempt.placed_wall = turn.now.wall;
  attempt.deadline = turn.now.mono + turn.policy.start_timeout;
  if (task != nullptr) {
    attempt.resume_from = task->checkpoint;
    attempt.resume_step = task->checkpoint_step;
  }
  for (NodeId id : nodes)
    attempt.members.push_back({.node = id, .gpu_uuids = PickGpus(*turn.state.FindNode(id), job.shape)});
  return attempt;
}

// Places the head if it fits; false when it does not.
bool PlaceHead(Turn& turn, const ReadyKey& key, const Blocked& blocked) {
  const Job& job = *turn.state.FindJob(key.job);
  const Task* task = turn.state.FindTask({job.id, key.index});
  std::vector<NodeId> nodes = ChooseNodes(turn.state, job.shape, task == nullptr ? NodeId{} : task->avoid, blocked,
                                           HeardSince(turn.policy, turn.now));
  if (nodes.size() < static_cast<size_t>(job.shape.nodes)) return false;
  turn.emit(AttemptPlaced{MakeAttempt(turn, job, key.index, nodes)});
  return true;
}

// What the blocked shapes keep back on a node: each what it needs, where it could start as soon as something is free.
Reserved KeptBack(const Node& node, const Blocked& blocked, Millis heard_since) {
  Reserved kept;
  for (const Shape& shape : blocked) {
    Fit fit = CheckFit(node, shape, {}, heard_since);
    if (fit != Fit::kYes && fit < Fit::kCpusBusy) continue;
    kept.cpus += shape.cpus;
    kept.memory += shape.memory;
    kept.gpus += shape.gpus;
  }
  return kept;
}

// From `at` on, the first node with enough free CPUs, memory and GPUs of whatever kind. Skips all nodes with the same free
// GPUs and too few CPUs at once, so that full nodes cost nothing.
std::set<SpareKey>::const_iterator NextSpare(const std::set<SpareKey>& spare, std::set<SpareKey>::const_iterator at, const Shape& shape) {
  while (at != spare.end()) {
    if (at->gpus < shape.gpus) at = spare.lower_bound({shape.gpus, shape.cpus, shape.memory, {}});
    else if (at->cpus < shape.cpus) at = spare.lower_bound({at->gpus, shape.cpus, shape.memory, {}});
    else if (at->memory < shape.memory) at = spare.lower_bound({at->gpus, at->cpus, shape.memory, {}});
    else break;
  }
  return at;
}

}  // namespace

std::vector<NodeId> ChooseNodes(const ClusterState& state, const Shape& shape, NodeId avoid, const Blocked& blocked, Millis heard_since) {
  size_t wanted = static_cast<size_t>(shape.nodes);
  std::vector<NodeId> chosen;
  bool avoided_fits = false;
  for (auto at = NextSpare(state.spare, state.spare.begin(), shape); at != state.spare.end() && chosen.size() < wanted;
       at = NextSpare(state.spare, std::next(at), shape)) {
    const Node& node = *state.FindNode(at->node);
    if (CheckFit(node, shape, {}, heard_since) != Fit::kYes) continue;
    if (!blocked.empty() && CheckFit(node, shape, KeptBack(node, blocked, heard_since), heard_since) != Fit::kYes) continue;
    if (node.id == avoid) avoided_fits = true;
    else chosen.push_back(node.id);
  }
  if (chosen.size() < wanted && avoided_fits) chosen.push_back(avoid);
  return chosen.size() < wanted ? std::vector<NodeId>() : chosen;
}

Millis WaitsForNodes(const ClusterState& state, const Policy& policy, Now now) {
  Millis until = state.listening_since + policy.placement_wait;
  if (now.mono >= until) return 0;
  for (const auto& [id, node] : state.nodes)
    if (node.state == NodeState::kUnseen || (node.state == NodeState::kUp && !node.snapshot_complete)) return until;
  return 0;
}

bool Place(Turn& turn) {
  if (turn.state.ready.empty() || WaitsForNodes(turn.state, turn.policy, turn.now) != 0) return false;
  Blocked blocked;
  uint32_t left = turn.policy.sweep_batch;
  std::vector<int32_t> priorities;
  for (const auto& [priority, buckets] : turn.state.ready) priorities.push_back(priority);
  for (int32_t priority : priorities) {
    std::set<Head> heads;
    for (const auto& [shape, bucket] : turn.state.ready.at(priority)) heads.insert({*bucket.entries.begin(), &shape});
    while (!heads.empty()) {
      if (left == 0) return true;
      Head head = *heads.begin();
      heads.erase(heads.begin());
      Shape shape = *head.shape;  // the bucket may go when its last entry does
      if (!PlaceHead(turn, head.key, blocked)) {
        blocked.push_back(std::move(shape));
        continue;
      }
      --left;
      auto level = turn.state.ready.find(priority);
      if (level == turn.state.ready.end()) break;
      auto bucket = level->second.find(shape);
      if (bucket != level->second.end()) heads.insert({*bucket->second.entries.begin(), &bucket->first});
    }
  }
  return false;
}

}  // namespace gt
