// Which rows an event changed. Volatile events change none.
#pragma once
#include "coordinator/core/engine.h"

namespace gt {

// Called after Apply(event).
void Touch(const Event& event, const ClusterState& state, Batch* batch);

}  // namespace gt
