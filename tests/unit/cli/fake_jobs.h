// A coordinator for gtctl's tests: the real gRPC service with scripted answers, on loopback; and one run of gtctl
// against it with captured streams.
#pragma once
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cli/gtctl.h"
#include "gridtrain/v1/jobs_service.grpc.pb.h"

namespace gt {

class FakeJobs final : public gridtrain::v1::JobsService::Service {
 public:
  static constexpr const char* kToken = "the-token";

  FakeJobs() { Start(); }
  ~FakeJobs() override { Stop(); }
  void Start();  // again on the first port
  void Stop();
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  // What the calls answer; set before gtctl runs.
  std::map<uint64_t, gridtrain::v1::JobDetail> jobs;
  gridtrain::v1::JobSummary& AddJob(uint64_t id, gridtrain::v1::WireTaskState state);
  std::vector<std::string> problems, warnings;  // of Submit
  int unavailable = 0;                          // so many calls fail first
  bool lose_first_answer = false;               // Submit is done, its answer lost
  // Reads since the start, each gets the request and the writer: `ReadLogs`, `Watch` and `Events` as a script.
  std::function<grpc::Status(int, const gridtrain::v1::ReadLogsRequest&, grpc::ServerWriter<gridtrain::v1::LogChunk>*)>
      logs;
  std::function<grpc::Status(int, const gridtrain::v1::WatchRequest&, grpc::ServerWriter<gridtrain::v1::JobSummary>*)>
      watch;
  std::function<grpc::Status(int, const gridtrain::v1::EventsRequest&, grpc::ServerWriter<gridtrain::v1::EventBatch>*)>
      events;

  // What came in.
  std::vector<gridtrain::v1::SubmitRequest> submits;
  std::vector<gridtrain::v1::CancelRequest> cancels;
  std::vector<gridtrain::v1::ListRequest> lists;
  std::vector<gridtrain::v1::DrainNodeRequest> drains;
  std::atomic<int> reads = 0, watches = 0;

 private:
  template <typename T>
  using Writer = grpc::ServerWriter<T>;
  using Context = grpc::ServerContext;
  grpc::Status Enter(Context* context);

  grpc::Status Submit(Context*, const gridtrain::v1::SubmitRequest*, gridtrain::v1::SubmitResponse*) override;
  grpc::Status List(Context*, const gridtrain::v1::ListRequest*, gridtrain::v1::ListResponse*) override;
  grpc::Status GetJob(Context*, const gridtrain::v1::GetJobRequest*, gridtrain::v1::JobDetail*) override;
  grpc::Status Explain(Context*, const gridtrain::v1::GetJobRequest*, gridtrain::v1::ExplainResponse*) override;
  grpc::Status Cancel(Context*, const gridtrain::v1::CancelRequest*, gridtrain::v1::CancelResponse*) override;
  grpc::Status Watch(Context*, const gridtrain::v1::WatchRequest*, Writer<gridtrain::v1::JobSummary>*) override;
  grpc::Status Events(Context*, const gridtrain::v1::EventsRequest*, Writer<gridtrain::v1::EventBatch>*) override;
  grpc::Status ReadLogs(Context*, const gridtrain::v1::ReadLogsRequest*, Writer<gridtrain::v1::LogChunk>*) override;
  grpc::Status ListNodes(Context*, const gridtrain::v1::ListNodesRequest*, gridtrain::v1::ListNodesResponse*) override;
  grpc::Status DrainNode(Context*, const gridtrain::v1::DrainNodeRequest*, gridtrain::v1::DrainNodeResponse*) override;
  grpc::Status GetServer(Context*, const gridtrain::v1::GetServerRequest*, gridtrain::v1::ServerInfo*) override;

  std::mutex mutex_;
  std::map<std::string, uint64_t> keys_;  // under mutex_
  uint64_t next_id_ = 42;                 // under mutex_
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

struct RunResult {
  int code = 0;
  std::string out, err;
};

// The world of one run of gtctl.
struct Gtctl {
  std::map<std::string, std::string> environment;
  std::string input;
  bool terminal = false;
  RunResult operator()(const std::vector<std::string>& arguments) const;
};
Gtctl Against(const FakeJobs& fake);

gridtrain::v1::LogChunk Chunk(uint32_t rank, uint64_t offset, const std::string& data, uint32_t stream = 1,
                              uint32_t attempt = 1);
gridtrain::v1::LogChunk EndChunk();

}  // namespace gt
