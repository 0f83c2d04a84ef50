// Collectives between the ranks of one host, through memory that they share. Sums run in rank order on every rank, so
// the result depends neither on the layout of buckets nor on who came first.
#pragma once
#include <memory>
#include <mutex>
#include <string>

#include "worker/trainer/collective/backend.h"
#include "worker/trainer/collective/shm/segment.h"

namespace gt::trainer {

// Collectives are synchronous and issued by one thread; Abort and InFlight come from any. Takes one contiguous CPU
// tensor each; all-reduce sums float, double, int32, int64.
class ShmBackend : public AbortableBackend {
 public:
  ShmBackend(std::unique_ptr<ShmSegment> segment, int rank, int world_size);

  const std::string getBackendName() const override { return "gt-shm"; }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override;
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override;
  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                           std::vector<at::Tensor>& inputs,
                                           const c10d::AllgatherOptions& options) override;
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions& options) override;

  void Abort(const std::string& why) override { segment_->Abort(why); }
  std::string InFlight() override;

 private:
  class InOperation;
  void Meet();  // throws Aborted
  template <typename T>
  void SumChunk(char* memory, size_t bytes);
  void SumChunk(at::ScalarType type, char* memory, size_t bytes);
  int NextParity() { return static_cast<int>(++operations_ & 1); }

  const std::unique_ptr<ShmSegment> segment_;
  uint64_t operations_ = 0;
  std::mutex mutex_;
  std::string operation_;  // guarded by mutex_: what this rank waits in, for people
};

}  // namespace gt::trainer
