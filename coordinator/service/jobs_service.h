// What gtctl calls. gRPC's callback API: handlers never wait on gRPC's threads; a submit goes to the loop and is answered
// from there, whatever may wait for the disk runs on the pool.
#pragma once
#include <grpcpp/grpcpp.h>

#include <functional>
#include <string>

#include "coordinator/loop.h"
#include "coordinator/service/disk_guard.h"
#include "coordinator/service/edge.h"
#include "coordinator/service/job_reads.h"
#include "coordinator/service/watchers.h"
#include "gridtrain/v1/jobs_service.grpc.pb.h"

namespace gt {

class LogStore;

struct ServerFacts {
  std::string version, cluster_id, address, data_dir;
  uint64_t epoch = 0;
  Millis started_wall = 0;
};

// Everything must outlive the server that the service is registered with. Watchers belongs to the loop's thread.
struct JobsDeps {
  Loop* loop = nullptr;
  Store* store = nullptr;
  LogStore* logs = nullptr;
  Watchers* watchers = nullptr;
  WorkPool* pool = nullptr;
  DiskGuard* disk = nullptr;
  const Auth* auth = nullptr;
  std::function<Now()> clock;
  ServerFacts facts;
};

class JobsService final : public wire::JobsService::CallbackService {
 public:
  explicit JobsService(JobsDeps deps) : deps_(std::move(deps)), reads_(deps_.store, deps_.loop) {}
  // Where the server listens is known only after it does, and before the first call.
  void SetAddress(std::string address) { deps_.facts.address = std::move(address); }

  using Context = grpc::CallbackServerContext;
  grpc::ServerUnaryReactor* Submit(Context*, const wire::SubmitRequest*, wire::SubmitResponse*) override;
  grpc::ServerUnaryReactor* List(Context*, const wire::ListRequest*, wire::ListResponse*) override;
  grpc::ServerUnaryReactor* GetJob(Context*, const wire::GetJobRequest*, wire::JobDetail*) override;
  grpc::ServerUnaryReactor* Explain(Context*, const wire::GetJobRequest*, wire::ExplainResponse*) override;
  grpc::ServerUnaryReactor* Cancel(Context*, const wire::CancelRequest*, wire::CancelResponse*) override;
  grpc::ServerUnaryReactor* ListNodes(Context*, const wire::ListNodesRequest*, wire::ListNodesResponse*) override;
  grpc::ServerUnaryReactor* DrainNode(Context*, const wire::DrainNodeRequest*, wire::DrainNodeResponse*) override;
  grpc::ServerUnaryReactor* GetServer(Context*, const wire::GetServerRequest*, wire::ServerInfo*) override;
  grpc::ServerUnaryReactor* Backup(Context*, const wire::BackupRequest*, wire::DatabaseFile*) override;
  grpc::ServerUnaryReactor* Check(Context*, const wire::CheckRequest*, wire::DatabaseFile*) override;
  grpc::ServerWriteReactor<wire::JobSummary>* Watch(Context*, const wire::WatchRequest*) override;
  grpc::ServerWriteReactor<wire::EventBatch>* Events(Context*, const wire::EventsRequest*) override;
  grpc::ServerWriteReactor<wire::LogChunk>* ReadLogs(Context*, const wire::ReadLogsRequest*) override;

 private:
  // Answers with what `work` returns, from a thread of the pool.
  grpc::ServerUnaryReactor* OnPool(Context* context, std::function<Status()> work);

  JobsDeps deps_;
  JobReads reads_;
};

// Why a stream cannot be: ends it at once.
template <typename Message>
class RefusedStream final : public grpc::ServerWriteReactor<Message> {
 public:
  explicit RefusedStream(const Status& why) { this->Finish(ToGrpc(why)); }
  void OnDone() override { delete this; }
};

}  // namespace gt
