// The coordinator as gtctl calls it. Every request may be sent again after a lost answer (Submit carries its key), so
// all of them are tried until the timeout while the coordinator cannot be reached.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/base/time.h"
#include "common/text/access.h"
#include "gridtrain/v1/jobs_service.pb.h"

namespace gt {

// Calls block; streams call `each` on the calling thread until it answers false or the stream ends, and end with ok
// when the coordinator ended them. kUnavailable: could not be reached or went away. Any thread may call, several at
// once.
class Client {
 public:
  Client(const Access& access, Millis timeout);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const std::string& address() const { return address_; }
  // Called once a call that has waited a second for the coordinator, on the calling thread.
  void OnWaiting(std::function<void(const Status& why)> waiting);
  // The coordinator has come back elsewhere. With nothing in flight, on the thread that makes the calls.
  void MoveTo(const Access& access);

  Status Submit(const gridtrain::v1::SubmitRequest& request, gridtrain::v1::SubmitResponse* response);
  Status List(const gridtrain::v1::ListRequest& request, gridtrain::v1::ListResponse* response);
  Status GetJob(const gridtrain::v1::GetJobRequest& request, gridtrain::v1::JobDetail* response);
  Status Explain(const gridtrain::v1::GetJobRequest& request, gridtrain::v1::ExplainResponse* response);
  Status Cancel(const gridtrain::v1::CancelRequest& request, gridtrain::v1::CancelResponse* response);
  Status ListNodes(gridtrain::v1::ListNodesResponse* response);
  Status DrainNode(const gridtrain::v1::DrainNodeRequest& request, gridtrain::v1::DrainNodeResponse* response);
  Status GetServer(gridtrain::v1::ServerInfo* response);
  Status Backup(const gridtrain::v1::BackupRequest& request, gridtrain::v1::DatabaseFile* response);
  Status Check(const gridtrain::v1::CheckRequest& request, gridtrain::v1::DatabaseFile* response);

  using SummaryFn = std::function<bool(const gridtrain::v1::JobSummary&)>;
  using EventsFn = std::function<bool(const gridtrain::v1::EventBatch&)>;
  using ChunkFn = std::function<bool(const gridtrain::v1::LogChunk&)>;
  // `until` (ReadClock().mono, kNever for none) ends a stream with kDeadlineExceeded.
  Status Watch(const gridtrain::v1::WatchRequest& request, Millis until, const SummaryFn& each);
  Status Events(const gridtrain::v1::EventsRequest& request, const EventsFn& each);
  Status ReadLogs(const gridtrain::v1::ReadLogsRequest& request, const ChunkFn& each);

  // Ends everything in flight and makes everything later fail; any thread. What it broke off answers kUnavailable.
  void Interrupt();
  bool interrupted() const;
  // Sleeps; false at once when interrupted.
  bool Pause(Millis duration) const;

 private:
  struct Impl;
  std::string address_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gt
