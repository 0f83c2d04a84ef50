// The queue of tasks that wait for resources: buckets by (priority, shape), each in submit order. Only Apply calls these.
#pragma once
#include "coordinator/core/model.h"

namespace gt {

// A task that was tried before and may be placed again.
void AddReady(ClusterState* state, const Job& job, uint32_t index);
void RemoveReady(ClusterState* state, const Job& job, uint32_t index);
// The unplaced rest of a job moves from `old_next` to job.next_index; leaves the queue when nothing is left of it.
void MoveRest(ClusterState* state, const Job& job, uint32_t old_next);

}  // namespace gt
