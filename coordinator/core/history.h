// The line that an event leaves in the history that `gtctl events` shows; most leave none. No code parses it.
#pragma once
#include <optional>
#include <string>

#include "coordinator/core/event.h"

namespace gt {

struct HistoryLine {
  JobId job;
  std::optional<uint32_t> task_index;   // of an array, where the line is about one task
  uint32_t attempt = 0;      // 0: not about one
  std::string kind;          // "PLACED"
  std::string node;
  std::string text;
};

// Called after Apply(event).
std::optional<HistoryLine> Describe(const Event& event, const ClusterState& state);

}  // namespace gt
