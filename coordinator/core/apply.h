// Apply is total over events that Decide and Place made from this very state, and is the only code that changes it.
// A broken precondition is a bug of ours and ends the process.
#pragma once
#include "coordinator/core/event.h"

namespace gt {

void Apply(ClusterState* state, const Event& event);

// Every rule that must hold between batches; the first one that does not, in words, or empty. Run after each step in tests
// and in the simulator; O(everything).
std::string BrokenInvariant(const ClusterState& state);

}  // namespace gt
