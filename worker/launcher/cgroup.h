// The cgroups of this launcher: <base>/gridtrain-<hash of dir>/<slot>. Membership lives on any cgroup2 mount (a hybrid one
// too), memory limits wherever the memory controller is. Loop thread only; cgroupfs is memory, not disk.
//
// A slot holds one attempt at a time and is used again afterwards: making and removing one costs 90 us, asking whether it is
// empty 1 us. That nothing lives in it is the kernel's word ("populated 0"). A new launcher of the same directory kills
// whatever it finds in the tree, so it need not know which slot was whose.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/os/fd.h"

namespace gt::launcher {

class CgroupTree {
 public:
  // `root` empty: below our own cgroup. An error when no cgroup2 mount is writable there, or cgroup.kill is missing and
  // processes could not be listed.
  static Result<std::unique_ptr<CgroupTree>> Open(const std::string& root, const std::string& hash);
  ~CgroupTree();  // removes the empty tree

  bool limits_memory() const { return memory_version_ != 0; }

  struct Slot {
    std::string path;
    Fd dir;     // for CLONE_INTO_CGROUP
    Fd events;  // cgroup.events
    bool fresh_only = false;  // carries what a later attempt must not find: not used again
    std::string memory_path;  // v1: its memory cgroup, when it has one
  };
  Result<std::unique_ptr<Slot>> Take();
  // SIGKILL to all members, also to those that are being forked.
  void Kill(Slot* slot);
  // No process lives in it.
  bool Empty(const Slot& slot) const;
  // It must be empty.
  void Return(std::unique_ptr<Slot> slot);
  // With jobs that may write to their cgroup (same user, or root) slots are not used again.
  void set_reuse(bool reuse) { reuse_ = reuse; }

  // Limits an empty slot. The fd is a v1 cgroup.procs to write "0" to before the exec; not valid with v2, where membership
  // is enough.
  Result<Fd> LimitMemory(Slot* slot, int64_t bytes);
  struct Memory {
    bool oom = false;
    int64_t peak = 0;
  };
  Memory ReadMemory(const Slot& slot) const;

  // What earlier launchers of this directory left: found by Open.
  void KillLeftovers();
  bool RemoveLeftovers();  // true when there is none (any more)

 private:
  CgroupTree() = default;
  void FindMemoryController(const std::string& parent, const std::string& hash);

  std::string base_;
  std::string memory_base_;  // v1 only
  int memory_version_ = 0;   // 0: no limits can be set
  std::string prefix_;       // of slot names: differs from those of earlier launchers
  uint64_t next_ = 0;
  bool reuse_ = false;
  std::vector<std::unique_ptr<Slot>> free_;
  std::vector<std::string> leftovers_;
};

}  // namespace gt::launcher
