// Placement: which waiting tasks start now, and where. Order is (priority, job, index). A gang starts whole or not at all.
// Best fit: the nodes that have least to spare. A head that does not fit keeps back what it needs on the nodes that it could
// use, and others pass it elsewhere. Costs what changed, never the length of the queue.
#pragma once
#include "coordinator/core/decide.h"
#include "coordinator/core/place/fit.h"

namespace gt {

// The shapes of heads that come first and do not fit now.
using Blocked = std::vector<Shape>;

// The nodes that would take the shape, best first; none: it does not fit. `avoid` comes last. Costs about the nodes chosen,
// and those that look free and are not (draining, silent, of another GPU model, kept back).
std::vector<NodeId> ChooseNodes(const ClusterState& state, const Shape& shape, NodeId avoid, const Blocked& blocked, Millis heard_since);
// Nodes silent since before this take nothing new.
inline Millis HeardSince(const Policy& policy, Now now) { return now.mono - policy.suspect_after(); }

// Whether placement still waits for nodes that were up before a restart, and until when (monotonic; 0: it does not).
Millis WaitsForNodes(const ClusterState& state, const Policy& policy, Now now);

// Emits AttemptPlaced events, at most policy.sweep_batch; true when it stopped at that bound.
bool Place(Turn& turn);

}  // namespace gt
