// Starting one rank, fast: clone3 with CLONE_VFORK|CLONE_VM straight into its cgroup. The child runs on a stack of its own,
// calls nothing but system calls, and leaves the step and errno of a failure in our memory.
//
// Copying a table of thousands of descriptors and closing it again at the exec would cost more than the exec itself. So the
// child shares our table (CLONE_FILES) for as long as it takes to unshare only the lowest few: what it needs lies at numbers
// that ReserveSpawnFds has set aside.
#pragma once
#include <sys/resource.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/ids.h"
#include "common/os/fd.h"
#include "worker/launcher/users.h"

namespace gt::launcher {

// What all ranks of an attempt have in common, ready for the child: nothing is allocated after the clone.
struct GangPlan {
  Uid uid;
  std::vector<std::string> argv;
  std::vector<std::string> paths;       // where argv[0] may be, tried in order
  std::string workdir;
  std::vector<std::string> common_env;  // "NAME=value"
  std::vector<std::vector<std::string>> rank_env;  // one per local rank
  JobUser user;
  int64_t memory_limit = 0;
};

struct SpawnRequest {
  const GangPlan* plan = nullptr;
  uint32_t local_rank = 0;
  int stdout_fd = -1, stderr_fd = -1;  // stdin is /dev/null
  int cgroup_fd = -1;    // clone3(CLONE_INTO_CGROUP); -1: ours
  int memory_fd = -1;    // cgroup.procs of a v1 memory cgroup; -1: none
  bool want_pidfd = false;
};

struct Spawned {
  pid_t pid = 0;
  Fd pidfd;
};

// How the launcher found itself; ranks get it back.
struct InheritedLimits {
  rlimit files{};
  bool reset_oom_score = false;
};

// Closes every inherited descriptor from 3 up and sets the next few aside. First thing in main: whatever has been opened
// before is gone.
Status ReserveSpawnFds();
constexpr int kFirstSpawnFd = 3, kSpawnFds = 4;  // stdin, stdout, stderr of the next child, its memory cgroup

class Spawner {
 public:
  // Takes the stack of the children and /dev/null.
  static Result<Spawner> Make(const InheritedLimits& limits);
  Spawner(Spawner&&) = default;
  // Blocks until the program has been exec'd (or that failed: a message like "exec /x/y: No such file or directory").
  // One thread at a time.
  Result<Spawned> Spawn(const SpawnRequest& request);
  int dev_null() const { return dev_null_.get(); }
  // From now on children set their oom_score_adj to 0.
  void ResetOomScore() { limits_.reset_oom_score = true; }

 private:
  struct Stack {
    char* base = nullptr;
    Stack() = default;
    Stack(Stack&& other) noexcept : base(std::exchange(other.base, nullptr)) {}
    ~Stack();
  };
  Spawner() = default;
  Stack stack_;
  Fd dev_null_;
  InheritedLimits limits_;
};

}  // namespace gt::launcher
