// The parts of Apply, by subject. Included by apply*.cc only.
#pragma once
#include "common/base/assert.h"
#include "coordinator/core/event.h"

namespace gt::apply {

template <typename Map, typename Key>
auto& At(Map& map, const Key& key) {
  auto found = map.find(key);
  GT_ASSERT(found != map.end());
  return found->second;
}

void On(ClusterState* s, const JobSubmitted& e);
void On(ClusterState* s, const JobCancelRequested& e);
void On(ClusterState* s, const IndexCancelled& e);
void On(ClusterState* s, const UnplacedCancelled& e);
void On(ClusterState* s, const TaskRequeued& e);
void On(ClusterState* s, const TaskReady& e);
void On(ClusterState* s, const TaskFinished& e);
void On(ClusterState* s, const JobFinished& e);
void On(ClusterState* s, const CheckpointAccepted& e);

void On(ClusterState* s, const AttemptPlaced& e);
void On(ClusterState* s, const MemberAdvanced& e);
void On(ClusterState* s, const RendezvousReady& e);
void On(ClusterState* s, const MemberFormed& e);
void On(ClusterState* s, const ReformStarted& e);
void On(ClusterState* s, const GangFormed& e);
void On(ClusterState* s, const AttemptStarting& e);
void On(ClusterState* s, const AttemptRunning& e);
void On(ClusterState* s, const AttemptStopping& e);
void On(ClusterState* s, const StopRechecked& e);
void On(ClusterState* s, const FailureSeen& e);
void On(ClusterState* s, const MemberGone& e);
void On(ClusterState* s, const ProgressMade& e);
void On(ClusterState* s, const ExitSkewArmed& e);
void On(ClusterState* s, const AttemptEnded& e);

void On(ClusterState* s, const NodeJoined& e);
void On(ClusterState* s, const NodeInventoryChanged& e);
void On(ClusterState* s, const NodeDisconnected& e);
void On(ClusterState* s, const NodeSnapshotComplete& e);
void On(ClusterState* s, const NodeStale& e);
void On(ClusterState* s, const NodeLost& e);
void On(ClusterState* s, const NodeLeaseRearmed& e);
void On(ClusterState* s, const NodeDrainSet& e);

// next_index moves on by `count`, and past what was cancelled before its turn; returns how many of the `count` were that.
uint32_t Advance(Job* job, uint32_t count);
// The attempt's timer moves; kNever: it has none.
void SetDeadline(ClusterState* s, Attempt* attempt, Millis deadline);
// Takes or gives back what a member of the attempt uses on its node.
void Take(ClusterState* s, const Attempt& attempt, const Member& member);
void Release(ClusterState* s, const Attempt& attempt, const Member& member);
// Free resources of the node from its inventory and the live attempts on it.
void RecountNode(ClusterState* s, Node* node);

}  // namespace gt::apply
