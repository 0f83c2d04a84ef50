#include "tests/sim/disk.h"

namespace gt::sim {
namespace {
constexpr uint64_t kCheckpointEvery = 50;  // commits
}

Status Disk::Open() {
  Result<std::unique_ptr<Store>> opened =
      Store::Open("/sim.db", {.vfs = disk_.vfs_name(), .cluster_id = "sim", .background = false, .readers = 1});
  if (!opened.ok()) return opened.status();
  store_ = std::move(*opened);
  return OkStatus();
}

void Disk::Crash() {
  switch (rng_.Below(3)) {
    case 0:
      disk_.Kill();
      break;
    case 1:
      disk_.LosePower(MemDisk::Unsynced::kLost);
      break;
    default:
      disk_.LosePower(MemDisk::Unsynced::kTorn);
      break;
  }
  store_.reset();
}

Status Disk::Commit(const Batch& batch, const ClusterState& state) {
  Status status = store_->Commit(batch, state);
  // A checkpoint that fails (no space, no power) changes nothing; what follows meets the same fault.
  if (status.ok() && ++commits_ % kCheckpointEvery == 0) std::ignore = store_->Checkpoint();
  return status;
}

std::optional<JobId> Disk::FindKey(const std::string& key) {
  Result<std::optional<JobId>> found = store_->FindKey(key);
  return found.ok() ? *found : std::nullopt;
}

std::optional<TaskState> Disk::FinalState(JobId id) {
  Result<Job> job = store_->GetJob(id);
  return !job.ok() || job->ended_wall == 0 ? std::nullopt : std::optional(JobState(*job));
}

void Disk::SetFull(bool full) {
  disk_.SetCapacity(full ? disk_.UsedBytes() + static_cast<int64_t>(rng_.Below(64 << 10)) : INT64_MAX);
}

void Disk::CrashAtWrite(int64_t writes) { disk_.DieAfter(writes < 0 ? INT64_MAX / 2 : writes); }

}  // namespace gt::sim
