// A real gt-coordinator in a temporary folder on a free port of loopback, its clients, and workers that only pretend.
#pragma once
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/text/access.h"
#include "gridtrain/v1/jobs_service.grpc.pb.h"

namespace gt::test {

namespace wire = gridtrain::v1;

// How a program that was run to its end ended.
struct Ended {
  int code = -1;
  std::string err;  // what it printed to standard error
};

class CoordinatorProcess {
 public:
  // `program`: path of gt-coordinator. The folder goes with the object, and the test fails when a sanitizer has written to
  // its log.
  explicit CoordinatorProcess(std::string program);
  ~CoordinatorProcess();
  // Returns when it answers calls, always on the same port. A Status with its log when it does not within 20 s.
  Status Start(std::vector<std::string> more_arguments = {});
  // A second one in the same folder, or any other arguments, to its end (10 s at most).
  Ended RunOther(std::vector<std::string> arguments);
  void Kill();            // SIGKILL
  int Stop();             // SIGTERM; its exit code

  const std::string& dir() const { return dir_; }          // its parent folder
  std::string data_dir() const { return dir_ + "/data"; }
  int port() const { return port_; }
  pid_t pid() const { return pid_; }
  Access access() const;  // as it wrote it
  std::string Log() const;
  double CpuSeconds() const;  // user and system time so far

 private:
  const std::string program_;
  std::string dir_;
  int port_ = 0;
  pid_t pid_ = -1;
};

// A call's answer, or why there is none.
template <typename T>
struct Answer {
  grpc::Status status;
  T value;
  bool ok() const { return status.ok(); }
  T* operator->() { return &value; }
};

class JobsClient {
 public:
  explicit JobsClient(const Access& access);
  Answer<wire::SubmitResponse> Submit(const wire::SubmitRequest& request);
  // One job that runs /bin/true with a key of its own; array: "0-9" or "".
  Answer<wire::SubmitResponse> SubmitTrue(const std::string& key, const std::string& array = "");
  Answer<wire::ListResponse> List(bool all = false);
  Answer<wire::JobDetail> Get(uint64_t job);
  Answer<wire::ExplainResponse> Explain(uint64_t job);
  Answer<wire::CancelResponse> Cancel(uint64_t job);
  Answer<wire::ListNodesResponse> Nodes();
  Answer<wire::ServerInfo> Server();
  // Every summary until the stream ends.
  Answer<std::vector<wire::JobSummary>> Watch(uint64_t job);
  Answer<std::vector<wire::EventLine>> Events(uint64_t job, bool follow = false);
  wire::JobsService::Stub* stub() { return stub_.get(); }

  std::string token, protocol = "1";
  int deadline_seconds = 20;  // of each call
  void Prepare(grpc::ClientContext* context) const;

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<wire::JobsService::Stub> stub_;
};

// A client key of at least 16 bytes.
std::string Key(const std::string& name);
wire::SubmitRequest TrueJob(const std::string& key, const std::string& array = "");

}  // namespace gt::test
