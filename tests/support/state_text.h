// What a state holds that the store keeps, as text: two states are the same to the store exactly when their texts are.
// Left out: indices, monotonic instants, and what only this process knows (connections, last_heard, live progress).
#pragma once
#include <string>

#include "coordinator/core/model.h"

namespace gt {

std::string TextOf(const Job& job);
std::string TextOf(const Task& task);
std::string TextOf(const Attempt& attempt);
std::string TextOf(const Node& node);
std::string TextOf(const ClusterState& state);

}  // namespace gt
