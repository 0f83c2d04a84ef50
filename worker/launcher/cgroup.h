// The cgroups of this launcher: <base>/gridtrain-<hash of dir>/<uid>. Membership lives on any cgroup2 mount (a hybrid one
// too), memory limits wherever the memory controller is. Loop thread only; cgroupfs is memory, not disk.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "common/base/ids.h"
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

  // Makes the cgroup of an attempt; the fd is for CLONE_INTO_CGROUP.
  Result<Fd> Make(const Uid& uid);
  // SIGKILL to all members, also to those that are being forked.
  void Kill(const Uid& uid);
  // Removes the cgroup: true when it is gone, which the kernel grants only when no process lives in it.
  bool Remove(const Uid& uid);
  std::vector<Uid> List() const;
  std::vector<pid_t> Members(const Uid& uid) const;

  // The memory cgroup of an attempt with a limit. The fd is a v1 cgroup.procs to write "0" to before the exec; not valid
  // with v2, where membership is enough.
  Result<Fd> LimitMemory(const Uid& uid, int64_t bytes);
  struct Memory {
    bool oom = false;
    int64_t peak = 0;
  };
  Memory ReadMemory(const Uid& uid) const;
  void RemoveMemory(const Uid& uid);

 private:
  CgroupTree() = default;
  std::string Path(const Uid& uid) const { return base_ + "/" + ToHex(uid); }
  std::string MemoryPath(const Uid& uid) const { return (memory_version_ == 1 ? memory_base_ : base_) + "/" + ToHex(uid); }
  void FindMemoryController(const std::string& parent, const std::string& hash);

  std::string base_;
  std::string memory_base_;  // v1 only
  int memory_version_ = 0;   // 0: no limits can be set
};

}  // namespace gt::launcher
