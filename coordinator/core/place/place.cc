#include "coordinator/core/place/place.h"

#include <algorithm>
#include <tuple>

namespace gt {
namespace {

using ReservedByNode = std::unordered_map<NodeId, Reserved>;

// Least to spare first; nodes without GPUs before nodes with, when none are wanted.
auto Spare(const Node& node) { return std::tuple(node.gpus_free, node.cpus_free, node.memory_free, node.id); }

void KeepBack(const Turn& turn, const Shape& shape, ReservedByNode* reserved) {
  for (const auto& [id, node] : turn.state.nodes) {
    Fit fit = CheckFit(node, shape, {}, HeardSince(turn.policy, turn.now));
    if (fit != Fit::kYes && fit < Fit::kCpusBusy) continue;
    Reserved& kept = (*reserved)[id];
    kept.cpus += shape.cpus;
    kept.memory += shape.memory;
    kept.gpus += shape.gpus;
  }
}

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
bool PlaceHead(Turn& turn, const ReadyKey& key, const ReservedByNode& reserved) {
  const Job& job = *turn.state.FindJob(key.job);
  const Task* task = turn.state.FindTask({job.id, key.index});
  std::vector<NodeId> nodes = ChooseNodes(turn.state, job.shape, task == nullptr ? NodeId{} : task->avoid, reserved,
                                           HeardSince(turn.policy, turn.now));
  if (nodes.size() < static_cast<size_t>(job.shape.nodes)) return false;
  turn.emit(AttemptPlaced{MakeAttempt(turn, job, key.index, nodes)});
  return true;
}

}  // namespace

std::vector<NodeId> ChooseNodes(const ClusterState& state, const Shape& shape, NodeId avoid, const ReservedByNode& reserved,
                                Millis heard_since) {
  std::vector<const Node*> fits;
  for (const auto& [id, node] : state.nodes) {
    auto kept = reserved.find(id);
    if (CheckFit(node, shape, kept == reserved.end() ? Reserved{} : kept->second, heard_since) == Fit::kYes) fits.push_back(&node);
  }
  size_t wanted = static_cast<size_t>(shape.nodes);
  if (fits.size() < wanted) return {};
  auto before = [&](const Node* a, const Node* b) {
    return std::tuple(a->id == avoid, Spare(*a)) < std::tuple(b->id == avoid, Spare(*b));
  };
  std::partial_sort(fits.begin(), fits.begin() + static_cast<long>(wanted), fits.end(), before);
  std::vector<NodeId> chosen;
  for (size_t i = 0; i < wanted; ++i) chosen.push_back(fits[i]->id);
  return chosen;
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
  ReservedByNode reserved;
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
      if (!PlaceHead(turn, head.key, reserved)) {
        KeepBack(turn, shape, &reserved);
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
