#include "coordinator/core/ready.h"

#include "common/base/assert.h"

namespace gt {

void AddReady(ClusterState* state, const Job& job, uint32_t index) {
  bool added = state->ready[job.priority][job.shape].entries.insert({job.id, index}).second;
  GT_ASSERT(added);
  state->placement_version++;
}

void RemoveReady(ClusterState* state, const Job& job, uint32_t index) {
  auto level = state->ready.find(job.priority);
  GT_ASSERT(level != state->ready.end());
  auto bucket = level->second.find(job.shape);
  GT_ASSERT(bucket != level->second.end());
  GT_ASSERT(bucket->second.entries.erase({job.id, index}) == 1);
  if (!bucket->second.entries.empty()) return;
  level->second.erase(bucket);
  if (level->second.empty()) state->ready.erase(level);
}

void MoveRest(ClusterState* state, const Job& job, uint32_t old_next) {
  RemoveReady(state, job, old_next);
  if (job.HasUnplaced()) AddReady(state, job, job.next_index);
}

}  // namespace gt
