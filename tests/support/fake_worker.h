// A worker that only pretends: speaks Sync over real gRPC, starts nothing, and reports what the test decides.
#pragma once
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "common/base/ids.h"
#include "common/text/access.h"
#include "gridtrain/v1/worker_service.grpc.pb.h"

namespace gt::test {

namespace wire = gridtrain::v1;

struct FakeWorkerOptions {
  std::string name = "node-a";
  int cpus = 8;
  int64_t memory = int64_t{16} << 30;
  std::string boot_id = "boot-1";
  Uid node_uid;           // empty: made of the name
  bool finish_at_once = true;  // every attempt ends with exit code 0 as soon as it is ordered; else Finish ends it
  bool answer_pings = true;
  bool beats = true;
};

class FakeWorker {
 public:
  FakeWorker(const Access& access, FakeWorkerOptions options);
  ~FakeWorker();  // breaks the stream off

  // Waits for the welcome, at most 10 s. The welcome, with `refused` where it is; nullopt: the stream ended without.
  std::optional<wire::Welcome> Welcomed();
  // The attempt that is to run now, waiting at most 10 s for one that was not taken yet.
  std::optional<wire::AttemptOrder> TakeRun();
  // The same for orders to stop.
  std::optional<wire::AttemptOrder> TakeStop();
  void ReportPhase(const wire::AttemptOrder& order, wire::WirePhase phase);
  void ReportExit(const wire::AttemptOrder& order, int code, const std::string& tail = "", uint64_t stdout_bytes = 0,
                  uint64_t lost_bytes = 0);
  void ReportProgress(const wire::AttemptOrder& order, uint64_t step);
  bool WaitForget(const wire::WireUid& uid);  // the coordinator has the exit on disk
  grpc::Status WaitEnd();                     // of the stream
  uint64_t ended() const;                     // exits reported so far
  std::string LaunchOf(uint64_t job);         // argv[0] of its launch data; empty: never came

 private:
  using Stream = grpc::ClientReaderWriter<wire::NodeReport, wire::NodeOrders>;
  void Read();
  void Beat();
  void Handle(const wire::NodeOrders& orders);
  void Flush(std::unique_lock<std::mutex>* lock);  // sends what is due when nothing is in flight
  wire::AttemptReport* Due(const wire::AttemptOrder& order);

  const FakeWorkerOptions options_;
  std::unique_ptr<wire::WorkerService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<Stream> stream_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false, stopping_ = false, writing_ = false, wants_ack_ = false;
  std::optional<wire::Welcome> welcome_;
  std::vector<wire::AttemptOrder> runs_, stops_;
  std::map<uint64_t, std::string> launches_;
  std::map<std::string, bool> forgotten_;
  wire::NodeReport due_;
  uint64_t seq_ = 0, acked_ = 0, orders_ = 0, beat_ = 0, sent_beat_ = 0, pong_ = 0, ended_ = 0;
  grpc::Status end_;
  std::thread reader_, beater_;
};

}  // namespace gt::test
