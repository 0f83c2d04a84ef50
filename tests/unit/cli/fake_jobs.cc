#include "tests/unit/cli/fake_jobs.h"

#include <thread>

namespace gt {

using namespace gridtrain::v1;

void FakeJobs::Start() {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:" + std::to_string(port_), grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

void FakeJobs::Stop() {
  if (server_) server_->Shutdown(std::chrono::system_clock::now());
  server_.reset();
}

JobSummary& FakeJobs::AddJob(uint64_t id, WireTaskState state) {
  JobDetail& detail = jobs[id];
  detail.mutable_spec()->mutable_run()->add_command("/bin/true");
  JobSummary& summary = *detail.mutable_summary();
  summary.set_job_id(id);
  summary.set_name("job-" + std::to_string(id));
  summary.set_owner("ada");
  summary.set_state(state);
  summary.set_nodes(1);
  summary.set_submitted_ms(1000);
  return summary;
}

grpc::Status FakeJobs::Enter(Context* context) {
  auto value = [&](const char* key) {
    auto it = context->client_metadata().find(key);
    return it == context->client_metadata().end() ? std::string() : std::string(it->second.data(), it->second.size());
  };
  if (value("authorization") != std::string("Bearer ") + kToken)
    return {grpc::StatusCode::UNAUTHENTICATED, "wrong token"};
  if (value("gt-protocol") != "1") return {grpc::StatusCode::FAILED_PRECONDITION, "wrong protocol"};
  if (unavailable > 0) return --unavailable, grpc::Status(grpc::StatusCode::UNAVAILABLE, "starting");
  return grpc::Status::OK;
}

grpc::Status FakeJobs::Submit(Context* context, const SubmitRequest* request, SubmitResponse* response) {
  std::lock_guard lock(mutex_);
  submits.push_back(*request);
  if (auto status = Enter(context); !status.ok()) return status;
  for (const auto& one : request->jobs()) {
    auto* answer = response->add_jobs();
    for (const auto& problem : problems) answer->add_problems(problem);
    for (const auto& warning : warnings) answer->add_warnings(warning);
    if (!problems.empty() || request->dry_run()) continue;
    auto [it, fresh] = keys_.emplace(one.client_key(), next_id_);
    if (fresh) AddJob(next_id_++, TASK_QUEUED);
    answer->set_job_id(it->second);
    answer->set_duplicate(!fresh);
  }
  if (lose_first_answer) return lose_first_answer = false, grpc::Status(grpc::StatusCode::UNAVAILABLE, "gone");
  return grpc::Status::OK;
}

grpc::Status FakeJobs::List(Context* context, const ListRequest* request, ListResponse* response) {
  if (auto status = Enter(context); !status.ok()) return status;
  lists.push_back(*request);
  for (auto it = jobs.rbegin(); it != jobs.rend(); ++it) {
    if (request->before_id() != 0 && it->first >= request->before_id()) continue;
    if (response->jobs_size() == static_cast<int>(request->limit())) return response->set_more(true), grpc::Status::OK;
    *response->add_jobs() = it->second.summary();
  }
  response->set_total_live(jobs.size());
  return grpc::Status::OK;
}

grpc::Status FakeJobs::GetJob(Context* context, const GetJobRequest* request, JobDetail* response) {
  if (auto status = Enter(context); !status.ok()) return status;
  auto it = jobs.find(request->job_id());
  if (it == jobs.end()) return {grpc::StatusCode::NOT_FOUND, "no job " + std::to_string(request->job_id())};
  *response = it->second;
  return grpc::Status::OK;
}

grpc::Status FakeJobs::Explain(Context* context, const GetJobRequest* request, ExplainResponse* response) {
  JobDetail detail;
  if (auto status = GetJob(context, request, &detail); !status.ok()) return status;
  *response->mutable_summary() = detail.summary();
  response->set_headline("waits for 2 GPUs");
  response->add_details("node a: 0 of 8 GPUs free, needs 2");
  response->set_ahead(3);
  return grpc::Status::OK;
}

grpc::Status FakeJobs::Cancel(Context* context, const CancelRequest* request, CancelResponse* response) {
  if (auto status = Enter(context); !status.ok()) return status;
  cancels.push_back(*request);
  for (const auto& target : request->targets()) {
    auto* result = response->add_results();
    result->set_job_id(target.job_id());
    auto it = jobs.find(target.job_id());
    if (it == jobs.end()) {
      result->set_outcome(CancelResponse::One::NOT_FOUND);
      continue;
    }
    bool finished = it->second.summary().state() > TASK_ACTIVE;
    result->set_outcome(finished ? CancelResponse::One::ALREADY_FINISHED : CancelResponse::One::ACCEPTED);
    *result->mutable_summary() = it->second.summary();
  }
  return grpc::Status::OK;
}

grpc::Status FakeJobs::Watch(Context* context, const WatchRequest* request, Writer<JobSummary>* writer) {
  if (auto status = Enter(context); !status.ok()) return status;
  int round = ++watches;
  if (watch) return watch(round, *request, writer);
  auto it = jobs.find(request->job_id());
  if (it == jobs.end()) return {grpc::StatusCode::NOT_FOUND, "no such job"};
  writer->Write(it->second.summary());
  if (it->second.summary().state() <= TASK_ACTIVE)
    while (!context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return grpc::Status::OK;
}

grpc::Status FakeJobs::Events(Context* context, const EventsRequest* request, Writer<EventBatch>* writer) {
  if (auto status = Enter(context); !status.ok()) return status;
  return events ? events(++reads, *request, writer) : grpc::Status::OK;
}

grpc::Status FakeJobs::ReadLogs(Context* context, const ReadLogsRequest* request, Writer<LogChunk>* writer) {
  if (auto status = Enter(context); !status.ok()) return status;
  int round = ++reads;
  if (logs) return logs(round, *request, writer);
  writer->Write(EndChunk());
  return grpc::Status::OK;
}

grpc::Status FakeJobs::ListNodes(Context* context, const ListNodesRequest*, ListNodesResponse* response) {
  if (auto status = Enter(context); !status.ok()) return status;
  auto* node = response->add_nodes();
  node->set_name("gpu-7");
  node->set_state("UP");
  node->set_schedulable(true);
  node->set_cpus(8), node->set_cpus_free(6), node->set_memory(8ll << 30), node->set_memory_free(6ll << 30);
  node->add_gpus()->set_model("H100");
  node->set_attempts(1);
  return grpc::Status::OK;
}

grpc::Status FakeJobs::DrainNode(Context* context, const DrainNodeRequest* request, DrainNodeResponse* response) {
  if (auto status = Enter(context); !status.ok()) return status;
  drains.push_back(*request);
  if (request->node() != "gpu-7") return {grpc::StatusCode::NOT_FOUND, "no node " + request->node()};
  response->mutable_node()->set_name("gpu-7");
  response->mutable_node()->set_state("UP");
  response->mutable_node()->set_draining(request->drain());
  return grpc::Status::OK;
}

grpc::Status FakeJobs::GetServer(Context* context, const GetServerRequest*, ServerInfo* response) {
  if (auto status = Enter(context); !status.ok()) return status;
  response->set_version("9.9.9");
  response->set_protocol(1);
  response->set_cluster_id("c1");
  response->set_address(address());
  return grpc::Status::OK;
}

RunResult Gtctl::operator()(const std::vector<std::string>& arguments) const {
  RunResult result;
  std::mutex mutex;
  Io io;
  io.out = [&](std::string_view text) {
    std::lock_guard lock(mutex);
    result.out += text;
  };
  io.err = [&](std::string_view text) {
    std::lock_guard lock(mutex);
    result.err += text;
  };
  io.in = [this]() -> Result<std::string> { return input; };
  io.ask = [this] { return input; };
  io.environment = [this](const char* name) -> const char* {
    auto it = environment.find(name);
    return it == environment.end() ? nullptr : it->second.c_str();
  };
  io.in_terminal = io.out_terminal = io.err_terminal = terminal;
  result.code = RunGtctl(arguments, io);
  return result;
}

Gtctl Against(const FakeJobs& fake) {
  Gtctl run;
  run.environment = {{"GTCTL_SERVER", fake.address()}, {"GTCTL_TOKEN", FakeJobs::kToken}, {"USER", "ada"}};
  return run;
}

LogChunk Chunk(uint32_t rank, uint64_t offset, const std::string& data, uint32_t stream, uint32_t attempt) {
  LogChunk chunk;
  chunk.mutable_uid()->set_high(attempt);
  chunk.mutable_uid()->set_low(7);
  chunk.set_attempt(attempt);
  chunk.set_rank(rank);
  chunk.set_stream(stream);
  chunk.set_offset(offset);
  chunk.set_data(data);
  chunk.set_time_ms(1000);
  chunk.set_node("gpu-7");
  return chunk;
}

LogChunk EndChunk() {
  LogChunk chunk;
  chunk.set_end(true);
  return chunk;
}

}  // namespace gt
