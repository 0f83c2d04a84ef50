// The coordinator's disk with the real store on it: outlives its processes, may be full, may lose power in the middle
// of a write.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "coordinator/store/store.h"
#include "tests/support/mem_vfs.h"

namespace gt::sim {

class Disk {
 public:
  explicit Disk(uint64_t seed) : rng_(seed), disk_(rng_.Next()) {}

  // A process opens it, and later dies: alone, or with the machine and all that was not synced.
  Status Open();
  void Crash();

  Result<ClusterState> Load() { return store_->Load(); }
  Result<Epoch> BumpEpoch() { return store_->BumpEpoch(); }
  Status Commit(const Batch& batch, const ClusterState& state);
  std::optional<JobId> FindKey(const std::string& key);
  std::optional<TaskState> FinalState(JobId id);  // nullopt: unknown or not over

  void SetFull(bool full);
  // Power fails at the `writes`th write from now; -1: it does not.
  void CrashAtWrite(int64_t writes);

 private:
  Rng rng_;
  MemDisk disk_;
  std::unique_ptr<Store> store_;
  uint64_t commits_ = 0;
};

}  // namespace gt::sim
