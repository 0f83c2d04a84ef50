// One node's stream of what its ranks print: batches are appended on a thread that may wait for the disk, and acknowledged when
// they are on it. What waits is bounded; beyond that nothing is read.
#pragma once
#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "coordinator/logs/log_store.h"
#include "coordinator/service/convert.h"
#include "coordinator/service/edge.h"

namespace gt {

struct ShipDeps {
  LogStore* logs = nullptr;
  WorkPool* pool = nullptr;             // of its own: reads of people never delay it
  std::function<bool()> disk_is_low;
};

// Lives by shared_ptr: its own until the call is over, and those of the pool's work.
class ShipStream final : public grpc::ServerBidiReactor<wire::LogBatch, wire::LogBatchAck>, public std::enable_shared_from_this<ShipStream> {
 public:
  static ShipStream* Begin(const ShipDeps& deps);

 private:
  explicit ShipStream(const ShipDeps& deps) : deps_(deps) {}
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override { std::shared_ptr<ShipStream> last = std::move(self_); }

  void Drain();                         // on the pool
  Status Append(const std::deque<wire::LogBatch>& batches);
  void StartDrain();                    // these under the lock
  void MaybeRead();
  void MaybeWrite();
  void End(const grpc::Status& status);
  void MaybeFinish();

  const ShipDeps deps_;
  wire::LogBatch incoming_;
  std::mutex mutex_;
  std::deque<wire::LogBatch> waiting_;
  size_t waiting_bytes_ = 0;
  bool reading_ = false, draining_ = false, writing_ = false, ending_ = false, finished_ = false, ack_due_ = false;
  wire::LogBatchAck next_ack_, outgoing_;
  grpc::Status end_status_;
  std::shared_ptr<ShipStream> self_;
};

}  // namespace gt
