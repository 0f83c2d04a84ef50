#include "coordinator/core/model.h"

#include <algorithm>

namespace gt {

TaskState JobState(const TaskCounts& counts) {
  if (counts.active > 0) return TaskState::kActive;
  if (counts.queued > 0) return TaskState::kQueued;
  if (counts.cancelled > 0) return TaskState::kCancelled;
  return counts.failed > 0 ? TaskState::kFailed : TaskState::kSucceeded;
}

Member* Attempt::FindMember(NodeId node) {
  for (Member& member : members)
    if (member.node == node) return &member;
  return nullptr;
}
const Member* Attempt::FindMember(NodeId node) const { return const_cast<Attempt*>(this)->FindMember(node); }

bool Attempt::AllGone() const {
  return std::all_of(members.begin(), members.end(), [](const Member& member) { return member.gone; });
}

namespace {
template <typename Map, typename Key>
auto Find(const Map& map, const Key& key) -> decltype(&map.begin()->second) {
  auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}
}  // namespace

const Job* ClusterState::FindJob(JobId id) const { return Find(jobs, id); }
const Task* ClusterState::FindTask(TaskId id) const { return Find(tasks, id); }
const Attempt* ClusterState::FindAttempt(const Uid& uid) const { return Find(attempts, uid); }
const Node* ClusterState::FindNode(NodeId id) const { return Find(nodes, id); }

}  // namespace gt
