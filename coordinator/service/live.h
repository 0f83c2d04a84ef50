// What only memory knows of a live job: why it waits, the attempt's phase, its progress. On the loop's thread.
#pragma once
#include <optional>

#include "coordinator/loop.h"
#include "coordinator/service/convert.h"

namespace gt {

NodeNames NamesOf(const ClusterState& state);
// Of names that an attempt needs: cheaper than all.
NodeNames NamesOf(const ClusterState& state, const Attempt& attempt);

// The summary of a job, or of one of its tasks, that is in memory. False when the job (or the task, once it is final) is not.
bool LiveSummary(const ClusterState& state, const Policy& policy, Now now, JobId job, std::optional<uint32_t> index, wire::JobSummary* out);

}  // namespace gt
