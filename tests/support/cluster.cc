#include "tests/support/cluster.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <sstream>
#include <thread>

#include "common/os/file.h"
#include "common/os/net.h"
#include "common/os/process.h"
#include "tests/support/sanitizer.h"

namespace gt::test {
namespace {

using std::chrono::milliseconds;

int FreePort() {
  Result<Fd> socket = ListenTcp("127.0.0.1", 0);
  return socket.ok() ? *LocalPort(socket->get()) : 0;
}

pid_t SpawnLogged(std::vector<std::string> argv, const std::string& log) {
  Result<Fd> out = OpenFile(log, O_WRONLY | O_CREAT | O_APPEND);
  SpawnOptions options;
  options.argv = std::move(argv);
  options.stdout_fd = options.stderr_fd = out->get();
  Result<pid_t> pid = Spawn(options);
  return pid.ok() ? *pid : -1;
}

// -1000 when it did not end in time; then it is killed.
int WaitAtMost(pid_t pid, int ms) {
  for (int waited = 0; waited < ms; waited += 5) {
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) == pid) return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    std::this_thread::sleep_for(milliseconds(5));
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  return -1000;
}

}  // namespace

CoordinatorProcess::CoordinatorProcess(std::string program) : program_(std::move(program)), port_(FreePort()) {
  char pattern[] = "/tmp/gt-cluster.XXXXXX";
  dir_ = ::mkdtemp(pattern);
}

CoordinatorProcess::~CoordinatorProcess() {
  if (pid_ > 0) Stop();  // what it leaks shows only when it leaves
  ExpectNoSanitizerReport(dir_ + "/log");
  std::error_code ignored;
  std::filesystem::remove_all(dir_, ignored);
}

Status CoordinatorProcess::Start(std::vector<std::string> more_arguments) {
  std::vector<std::string> argv = {program_, "--data-dir", data_dir(), "--listen", "127.0.0.1:" + std::to_string(port_)};
  argv.insert(argv.end(), more_arguments.begin(), more_arguments.end());
  pid_ = SpawnLogged(std::move(argv), dir_ + "/log");
  for (int i = 0; i < 2000; i++) {
    if (int status; ::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      break;
    }
    Result<Access> written = ReadAccess(data_dir() + "/access");
    if (written.ok() && JobsClient(*written).Server().ok()) return OkStatus();
    std::this_thread::sleep_for(milliseconds(10));
  }
  return {Code::kUnavailable, "the coordinator does not answer:\n" + Log()};
}

Ended CoordinatorProcess::RunOther(std::vector<std::string> arguments) {
  std::string log = dir_ + "/other.log";
  (void)RemoveFile(log);
  arguments.insert(arguments.begin(), program_);
  Ended ended;
  ended.code = WaitAtMost(SpawnLogged(std::move(arguments), log), 10'000);
  Result<std::string> text = ReadFile(log);
  if (text.ok()) ended.err = *text;
  ExpectNoSanitizerReport(log);
  return ended;
}

void CoordinatorProcess::Kill() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

int CoordinatorProcess::Stop() {
  ::kill(pid_, SIGTERM);
  int code = WaitAtMost(pid_, 10'000);
  pid_ = -1;
  return code;
}

Access CoordinatorProcess::access() const {
  Result<Access> read = ReadAccess(data_dir() + "/access");
  return read.ok() ? *read : Access{};
}

std::string CoordinatorProcess::Log() const {
  Result<std::string> text = ReadFile(dir_ + "/log");
  return text.ok() ? *text : text.status().message();
}

double CoordinatorProcess::CpuSeconds() const {
  Result<std::string> stat = ReadFile("/proc/" + std::to_string(pid_) + "/stat");
  if (!stat.ok()) return 0;
  std::istringstream fields(stat->substr(stat->rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; i++) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::string Key(const std::string& name) { return "test-key-of-a-job-" + name; }

wire::SubmitRequest TrueJob(const std::string& key, const std::string& array) {
  wire::SubmitRequest request;
  request.set_owner("tester");
  auto* one = request.add_jobs();
  one->set_client_key(Key(key));
  one->mutable_spec()->set_name("job-" + key);
  one->mutable_spec()->mutable_run()->add_command("/bin/true");
  if (!array.empty()) one->mutable_spec()->set_array(array);
  return request;
}

JobsClient::JobsClient(const Access& access) : token(access.token) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  channel_ = grpc::CreateCustomChannel("ipv4:" + access.address, grpc::InsecureChannelCredentials(), arguments);
  stub_ = wire::JobsService::NewStub(channel_);
}

void JobsClient::Prepare(grpc::ClientContext* context) const {
  if (!token.empty()) context->AddMetadata("authorization", "Bearer " + token);
  if (!protocol.empty()) context->AddMetadata("gt-protocol", protocol);
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(deadline_seconds));
}

#define GT_TEST_CALL(Method, Response, request) \
  Answer<wire::Response> answer;                \
  grpc::ClientContext context;                  \
  Prepare(&context);                            \
  answer.status = stub_->Method(&context, request, &answer.value); \
  return answer

Answer<wire::SubmitResponse> JobsClient::Submit(const wire::SubmitRequest& request) { GT_TEST_CALL(Submit, SubmitResponse, request); }
Answer<wire::SubmitResponse> JobsClient::SubmitTrue(const std::string& key, const std::string& array) { return Submit(TrueJob(key, array)); }

Answer<wire::ListResponse> JobsClient::List(bool all) {
  wire::ListRequest request;
  request.set_all(all);
  GT_TEST_CALL(List, ListResponse, request);
}

Answer<wire::JobDetail> JobsClient::Get(uint64_t job) {
  wire::GetJobRequest request;
  request.set_job_id(job);
  GT_TEST_CALL(GetJob, JobDetail, request);
}

Answer<wire::ExplainResponse> JobsClient::Explain(uint64_t job) {
  wire::GetJobRequest request;
  request.set_job_id(job);
  GT_TEST_CALL(Explain, ExplainResponse, request);
}

Answer<wire::CancelResponse> JobsClient::Cancel(uint64_t job) {
  wire::CancelRequest request;
  request.add_targets()->set_job_id(job);
  GT_TEST_CALL(Cancel, CancelResponse, request);
}

Answer<wire::ListNodesResponse> JobsClient::Nodes() { GT_TEST_CALL(ListNodes, ListNodesResponse, wire::ListNodesRequest()); }
Answer<wire::ServerInfo> JobsClient::Server() { GT_TEST_CALL(GetServer, ServerInfo, wire::GetServerRequest()); }

Answer<std::vector<wire::JobSummary>> JobsClient::Watch(uint64_t job) {
  Answer<std::vector<wire::JobSummary>> answer;
  grpc::ClientContext context;
  Prepare(&context);
  wire::WatchRequest request;
  request.set_job_id(job);
  auto reader = stub_->Watch(&context, request);
  for (wire::JobSummary summary; reader->Read(&summary);) answer.value.push_back(summary);
  answer.status = reader->Finish();
  return answer;
}

Answer<std::vector<wire::EventLine>> JobsClient::Events(uint64_t job, bool follow) {
  Answer<std::vector<wire::EventLine>> answer;
  grpc::ClientContext context;
  Prepare(&context);
  wire::EventsRequest request;
  request.set_job_id(job);
  request.set_follow(follow);
  auto reader = stub_->Events(&context, request);
  for (wire::EventBatch batch; reader->Read(&batch);) answer.value.insert(answer.value.end(), batch.events().begin(), batch.events().end());
  answer.status = reader->Finish();
  return answer;
}

}  // namespace gt::test
