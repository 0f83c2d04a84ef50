// A coordinator that a test drives: the real service over loopback, one worker, no rules of its own. It keeps what the
// worker says, sends what it is told to, and can be cut off.
#pragma once
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "common/base/ids.h"
#include "gridtrain/v1/worker_service.grpc.pb.h"

namespace gt::worker {

class FakeCoordinator final : public gridtrain::v1::WorkerService::Service {
 public:
  using Report = gridtrain::v1::AttemptReport;
  using Order = gridtrain::v1::AttemptOrder;
  using Launch = gridtrain::v1::JobLaunch;

  FakeCoordinator() { Listen(0); }
  ~FakeCoordinator() { Stop(); }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  void Stop();            // streams break; the port is free again
  void Restart();         // the same port; epoch rises, wants are kept, streams start anew

  // Launch data goes along before the first order; everything wanted is named in the list that a new stream gets.
  void Run(const Launch& job, Order order);
  void StopAttempt(const Uid& uid, int64_t grace_ms, gridtrain::v1::WireCause why);
  void Forget(const Uid& uid);
  void Refuse(const std::string& why) { refuse_ = why; }
  void DemandToken(const std::string& token) { token_ = token; }
  void AcknowledgeLogs(bool on) { acknowledge_logs_ = on; }

  // Waits up to ten seconds for it to hold; false when it never did.
  bool Wait(const std::function<bool()>& condition);
  // All of these hold the lock only inside Wait or by themselves.
  std::optional<gridtrain::v1::ExitRecord> ExitOf(const Uid& uid);
  std::optional<gridtrain::v1::WirePhase> PhaseOf(const Uid& uid);
  std::string Output(const Uid& uid, uint32_t stream);
  bool connected();
  int streams();
  gridtrain::v1::NodeHello hello();
  gridtrain::v1::Inventory inventory();
  std::map<Uid, Report> known();
  uint64_t log_batches();

  // Called for each exit, with the lock held; may call the functions named ...Locked.
  std::function<void(const Uid& uid)> on_exit;
  void RunLocked(const Launch& job, Order order);
  void ForgetLocked(const Uid& uid);
  const gridtrain::v1::ExitRecord& ExitLocked(const Uid& uid) { return known_[uid].exit(); }
  // Runs `change` with the lock held and sends what it asked for together.
  void Batch(const std::function<void()>& change) {
    std::lock_guard lock(mutex_);
    change();
    Flush(0);
  }
  bool Locked(const std::function<bool()>& question) {
    std::lock_guard lock(mutex_);
    return question();
  }

 private:
  using Stream = grpc::ServerReaderWriter<gridtrain::v1::NodeOrders, gridtrain::v1::NodeReport>;
  grpc::Status Sync(grpc::ServerContext* context, Stream* stream) override;
  grpc::Status ShipLogs(grpc::ServerContext* context,
                        grpc::ServerReaderWriter<gridtrain::v1::LogBatchAck, gridtrain::v1::LogBatch>* stream) override;
  void Listen(int port);
  bool Allowed(grpc::ServerContext* context) const;
  void Greet();
  void Take(const gridtrain::v1::NodeReport& report);
  void Flush(uint64_t ack);

  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string refuse_, token_;
  bool acknowledge_logs_ = true;
  uint64_t epoch_ = 1;
  // What should be.
  std::map<uint64_t, Launch> jobs_;
  std::map<Uid, Order> wanted_;
  // The present stream.
  Stream* stream_ = nullptr;
  int streams_ = 0;
  uint64_t seq_ = 0, in_flight_ = 0;
  std::map<uint64_t, bool> sent_jobs_;
  gridtrain::v1::NodeOrders pending_;
  bool has_pending_ = false;
  // What was heard.
  gridtrain::v1::NodeHello hello_;
  gridtrain::v1::Inventory inventory_;
  std::map<Uid, Report> known_;
  std::map<std::pair<Uid, uint32_t>, std::string> output_;
  uint64_t log_batches_ = 0;
};

gridtrain::v1::WireUid Wire(const Uid& uid);

}  // namespace gt::worker
