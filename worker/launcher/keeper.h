// The keeper: one process per attempt where no cgroup can be written. It is forked from the launcher, never execs, and is
// the parent and subreaper of the ranks: whatever they start, however it hides, stays below it, so ancestry names the
// attempt. It ends when nothing is left below it (with ranks that can re-form: and it was told to signal or kill); when the
// launcher dies, it kills everything below it at once.
//
// Messages over a SOCK_SEQPACKET pair, one struct each; kRestart brings the write ends of two pipes along.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "worker/launcher/gang.h"
#include "worker/launcher/spawn.h"

namespace gt::launcher {

struct KeeperOrder {  // launcher -> keeper
  enum Kind : uint8_t { kGo, kSignal, kKill, kRestart } kind;
  int32_t signal = 0;
  uint32_t local_rank = 0, generation = 0;  // kRestart
};

void SendRestart(int socket, const KeeperOrder& order, const RankPipes& pipes);

struct KeeperReport {  // keeper -> launcher
  enum Kind : uint8_t { kStarted, kAllStarted, kLaunchFailed, kExited, kGone } kind;
  uint32_t local_rank = 0;
  int32_t pid = 0;
  int32_t wait_status = 0;
  int64_t peak_resident = 0;
  char text[256] = "";
  bool jobs_fault = false;  // with kLaunchFailed
};

// What the forked process does for life. Starts nothing before kGo.
[[noreturn]] void KeeperMain(int socket, const GangPlan& plan, const std::vector<RankPipes>& pipes, Spawner* spawner);

}  // namespace gt::launcher
