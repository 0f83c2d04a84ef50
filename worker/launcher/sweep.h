// Finding and killing processes by descent and by the attempt that their environment names: for nodes without cgroups.
#pragma once
#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/os/process.h"

namespace gt::launcher {

// Every process below `root`, zombies left out; `but` and what is below them too.
std::vector<ProcessStat> DescendantsOf(pid_t root, const std::set<pid_t>& but = {});
// SIGKILL to all of them: first stops them one after another, so that none can fork away. Returns how many there were.
size_t KillDescendants(pid_t root);
// Every living process whose initial environment holds GT_ATTEMPT_UID=<uid>, but us. With `socket`, those whose GT_SOCKET is
// another one are left out: ranks of the same gang below another launcher of this machine.
std::vector<ProcessStat> ProcessesOfAttempt(const Uid& uid, const std::string& socket = "");
// Signals this very process (by pidfd, start time checked); false when it is gone.
bool SignalExactly(const ProcessStat& process, int signal);

}  // namespace gt::launcher
