#include "coordinator/core/apply.h"

#include "coordinator/core/apply_internal.h"

namespace gt {

void Apply(ClusterState* state, const Event& event) {
  std::visit([state](const auto& e) { apply::On(state, e); }, event);
}

}  // namespace gt
