// Re-forming a gang in place (reform.cc): for the other decisions of the core.
#pragma once
#include "coordinator/core/decide.h"

namespace gt {

// What a node says of its ranks' part in the group, of the current generation. Ranks that died are replaced in a new one, or
// they end the gang.
void OnFormation(Turn& turn, const Uid& uid, NodeId node, const Formation& said);
// The node's part is lost. True when another node takes it in a new generation; false: nothing was changed.
bool ReplaceMember(Turn& turn, const Uid& uid, NodeId lost, const std::string& why);
// What ends a gang that has not re-formed by its deadline.
Failure ReformOverdue(const Turn& turn, const Attempt& attempt);

}  // namespace gt
