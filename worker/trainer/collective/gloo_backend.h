// Gloo behind the abortable seam: between hosts, or where shared memory cannot be had.
#pragma once
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <list>
#include <mutex>
#include <string>

#include "worker/trainer/collective/backend.h"
#include "worker/trainer/collective/work.h"

namespace c10d {
class ProcessGroupGloo;
class Store;
}  // namespace c10d

namespace gt::trainer {

// Collectives are issued by one thread; Abort and InFlight come from any. Its destructor may wait for Gloo's threads:
// let the reaper run it.
class GlooBackend : public AbortableBackend {
 public:
  // Connects to all peers: blocks, throws. `address` is numeric: the one that this rank listens on.
  GlooBackend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int world_size, const std::string& address);
  ~GlooBackend() override;

  const std::string getBackendName() const override { return "gt-gloo"; }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override;
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override;
  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                           std::vector<at::Tensor>& inputs,
                                           const c10d::AllgatherOptions& options) override;
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions& options) override;

  void Abort(const std::string& why) override;
  std::string InFlight() override;

 private:
  template <typename Start>
  c10::intrusive_ptr<c10d::Work> Run(c10d::OpType op, int64_t numel, Start start);

  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo_;
  std::mutex mutex_;
  std::list<c10::intrusive_ptr<AbortableWork>> live_;  // guarded by mutex_, as are the next two
  bool aborted_ = false;
  std::string why_;
  uint64_t sequence_ = 0;
};

}  // namespace gt::trainer
