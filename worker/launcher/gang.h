// The ranks of one attempt on this node as one thing that can be started, signalled, killed and proven gone. Two kinds:
// in a cgroup (cgroup_gang.h), or under a keeper process where no cgroup can be written (keeper_gang.h). Loop thread only.
#pragma once
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "common/os/process.h"
#include "worker/launcher/spawn.h"

namespace gt::launcher {

// Who hears of the gang. Calls may come from inside Start. A gang is never destroyed from inside a call.
class GangObserver {
 public:
  virtual void OnRankStarted(uint32_t local_rank, pid_t pid) = 0;
  virtual void OnAllStarted() = 0;
  // Nothing further is started; kill the gang and wait until it is gone. kInvalidArgument: the fault is the job's (no such
  // program or work directory), anything else is the machine's.
  virtual void OnLaunchFailed(uint32_t local_rank, const Status& why) = 0;
  virtual void OnRankExited(uint32_t local_rank, const ExitStatus& status, int64_t peak_resident) = 0;

 protected:
  ~GangObserver() = default;
};

// Write ends of the pipes of one rank; not taken over.
struct RankPipes {
  int stdout_fd = -1, stderr_fd = -1;
};

struct Evidence {
  bool oom = false;
  int64_t peak_memory = 0;  // 0: not measured by a cgroup
};

class Gang {
 public:
  virtual ~Gang() = default;  // only after Gone
  virtual void Start(const std::vector<RankPipes>& pipes) = 0;
  // To the process group of each rank that has not ended.
  virtual void Signal(int signal) = 0;
  // SIGKILL to everything, whatever it did to hide. May be repeated.
  virtual void Kill() = 0;
  // True once it is proven that nothing of the gang lives (zombies do not count). Cheap; poll it.
  virtual bool Gone() = 0;
  virtual Evidence evidence() const { return {}; }
};

// Identity of a keeper, to find it after a crash of the launcher.
struct KeeperId {
  pid_t pid = 0;
  uint64_t start_ticks = 0;
};

class Containment {
 public:
  virtual ~Containment() = default;
  virtual std::string kind() const = 0;
  virtual std::unique_ptr<Gang> Make(const GangPlan* plan, GangObserver* observer) = 0;  // plan outlives the gang
  // What an earlier launcher may have left of an attempt: only Kill and Gone make sense for it.
  virtual std::unique_ptr<Gang> Recover(const Uid& uid, const KeeperId& keeper) = 0;
};

}  // namespace gt::launcher
