// Why a task is not running now: asked on demand, answered by the predicates that place it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "coordinator/core/model.h"
#include "coordinator/core/policy.h"

namespace gt {

struct Explanation {
  std::string headline;              // one sentence with numbers
  std::vector<std::string> details;  // per node, most binding first; at most 20
  Millis until = 0;                  // monotonic deadline of what is waited for; 0: none
  uint32_t ahead = 0;                // queued tasks before it, counted up to 100,000
};

// A live job, or one task of an array. For arrays: of its first task that waits.
Explanation Explain(const ClusterState& state, const Policy& policy, JobId job, Now now, std::optional<uint32_t> index = {});
// One line for tables: "waiting for 2 nodes with 1 GPU: 1 fits". Cheap: used for lists of up to 1,000.
std::string Reason(const ClusterState& state, const Policy& policy, JobId job, Now now, std::optional<uint32_t> index = {});

// Why no node of the cluster, as it is known, could ever run this shape; empty when it could. With the largest that would fit.
std::string Infeasible(const ClusterState& state, const Shape& shape);

}  // namespace gt
