// From rows to a state that can run: indices, free resources, timers, a new epoch.
#pragma once
#include "coordinator/core/model.h"
#include "coordinator/core/policy.h"

namespace gt {

// `state` holds what the store read: counters, live jobs, tasks, attempts (and ended ones with members not gone), nodes.
// Fills in everything that is derived; every node that was up becomes UNSEEN with a fresh lease. Does not raise the epoch.
void Derive(ClusterState* state, const Policy& policy, Now now);

}  // namespace gt
