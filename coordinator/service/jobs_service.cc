#include "coordinator/service/jobs_service.h"

#include "common/base/vocabulary.h"
#include "coordinator/service/log_stream.h"

namespace gt {
namespace {

constexpr int kMaxCancels = 1000;
constexpr size_t kMaxReason = 200;

template <typename Request>
std::optional<uint32_t> IndexOf(const Request& request) {
  return request.has_task_index() ? std::optional<uint32_t>(request.task_index()) : std::nullopt;
}

template <typename T>
Status Assign(Result<T> result, T* out) {
  if (!result.ok()) return result.status();
  out->Swap(&*result);
  return OkStatus();
}

}  // namespace

grpc::ServerUnaryReactor* JobsService::OnPool(Context* context, std::function<Status()> work) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  Status allowed = deps_.auth->Check(*context);
  if (allowed.ok()) allowed = deps_.pool->Run([reactor, work = std::move(work)] { reactor->Finish(ToGrpc(work())); });
  if (!allowed.ok()) reactor->Finish(ToGrpc(allowed));
  return reactor;
}

grpc::ServerUnaryReactor* JobsService::List(Context* context, const wire::ListRequest* request, wire::ListResponse* response) {
  return OnPool(context, [=, this] { return Assign(reads_.List(*request), response); });
}

grpc::ServerUnaryReactor* JobsService::GetJob(Context* context, const wire::GetJobRequest* request, wire::JobDetail* response) {
  return OnPool(context, [=, this] { return Assign(reads_.Detail({request->job_id()}, IndexOf(*request)), response); });
}

grpc::ServerUnaryReactor* JobsService::Explain(Context* context, const wire::GetJobRequest* request, wire::ExplainResponse* response) {
  return OnPool(context, [=, this] { return Assign(reads_.Explain({request->job_id()}, IndexOf(*request)), response); });
}

grpc::ServerUnaryReactor* JobsService::ListNodes(Context* context, const wire::ListNodesRequest*, wire::ListNodesResponse* response) {
  return OnPool(context, [=, this] { return Assign(reads_.Nodes(), response); });
}

grpc::ServerUnaryReactor* JobsService::GetServer(Context* context, const wire::GetServerRequest*, wire::ServerInfo* response) {
  return OnPool(context, [=, this] {
    const ServerFacts& facts = deps_.facts;
    response->set_version(facts.version);
    response->set_protocol(kProtocolVersion);
    response->set_cluster_id(facts.cluster_id);
    response->set_epoch(facts.epoch);
    response->set_started_ms(facts.started_wall);
    response->set_address(facts.address);
    response->set_data_dir(facts.data_dir);
    auto counts = std::make_shared<std::pair<uint64_t, uint64_t>>();
    GT_RETURN_IF_ERROR(deps_.loop->QueryAndWait([counts](const LoopView& view) {
      counts->first = view.state.jobs.size();
      for (const auto& [id, node] : view.state.nodes) counts->second += node.state == NodeState::kUp;
    }));
    std::string note = deps_.disk->Note(deps_.clock().mono);
    response->set_disk_free(static_cast<uint64_t>(deps_.disk->free()));
    if (!note.empty()) response->set_disk_note(note);
    response->set_live_jobs(counts->first);
    response->set_nodes_up(counts->second);
    return OkStatus();
  });
}

grpc::ServerUnaryReactor* JobsService::DrainNode(Context* context, const wire::DrainNodeRequest* request, wire::DrainNodeResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  Status status = deps_.auth->Check(*context);
  if (status.ok()) {
    LoopItem item;
    item.commands.push_back(SetDrain{request->node(), request->drain(), Clean(request->reason(), kMaxReason), Clean(request->actor(), kMaxReason)});
    auto filled = [=, this]() -> Status {
      GT_ASSIGN_OR_RETURN(wire::ListNodesResponse nodes, reads_.Nodes());
      for (wire::NodeSummary& node : *nodes.mutable_nodes())
        if (node.name() == request->node()) response->mutable_node()->Swap(&node);
      return OkStatus();
    };
    item.done = [=, this](const Status& why, std::span<const Reply> replies) {
      Status done = why.ok() ? std::get<DrainReply>(replies[0]).status : why;
      if (done.ok()) done = deps_.pool->Run([=] { reactor->Finish(ToGrpc(filled())); });
      if (!done.ok()) reactor->Finish(ToGrpc(done));
    };
    status = deps_.loop->Push(std::move(item));
  }
  if (!status.ok()) reactor->Finish(ToGrpc(status));
  return reactor;
}

namespace {

// After the commit: what became of each target, with its summary.
void FillCancelled(JobReads* reads, const wire::CancelRequest& request, const CancelReply& reply, wire::CancelResponse* response) {
  for (int i = 0; i < request.targets_size(); i++) {
    const auto& target = request.targets(i);
    wire::CancelResponse::One* one = response->add_results();
    one->set_job_id(target.job_id());
    Result<wire::JobSummary> summary = reads->Summary({target.job_id()}, IndexOf(target));
    using Outcome = wire::CancelResponse::One;
    if (reply.outcomes[i] == CancelReply::Outcome::kAccepted) one->set_outcome(Outcome::ACCEPTED);
    else one->set_outcome(summary.ok() ? Outcome::ALREADY_FINISHED : Outcome::NOT_FOUND);
    if (summary.ok()) one->mutable_summary()->Swap(&*summary);
  }
}

}  // namespace

grpc::ServerUnaryReactor* JobsService::Cancel(Context* context, const wire::CancelRequest* request, wire::CancelResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  Status status = deps_.auth->Check(*context);
  if (status.ok() && request->targets_size() > kMaxCancels) status = {Code::kInvalidArgument, "at most 1,000 jobs can be cancelled by one request"};
  if (status.ok()) {
    gt::Cancel cancel{{}, Clean(request->reason(), kMaxReason), Clean(request->actor(), kMaxReason)};
    for (const auto& target : request->targets()) cancel.targets.push_back({{target.job_id()}, IndexOf(target)});
    LoopItem item;
    item.commands.push_back(std::move(cancel));
    item.done = [=, this](const Status& why, std::span<const Reply> replies) {
      if (!why.ok()) return reactor->Finish(ToGrpc(why));
      Status queued = deps_.pool->Run([=, this, reply = std::get<CancelReply>(replies[0])] {
        FillCancelled(&reads_, *request, reply, response);
        reactor->Finish(grpc::Status::OK);
      });
      if (!queued.ok()) reactor->Finish(ToGrpc(queued));
    };
    status = deps_.loop->Push(std::move(item));
  }
  if (!status.ok()) reactor->Finish(ToGrpc(status));
  return reactor;
}

grpc::ServerWriteReactor<wire::JobSummary>* JobsService::Watch(Context* context, const wire::WatchRequest* request) {
  if (Status allowed = deps_.auth->Check(*context); !allowed.ok()) return new RefusedStream<wire::JobSummary>(allowed);
  return WatchStream::Begin(deps_, &reads_, {request->job_id()}, IndexOf(*request));
}

grpc::ServerWriteReactor<wire::EventBatch>* JobsService::Events(Context* context, const wire::EventsRequest* request) {
  if (Status allowed = deps_.auth->Check(*context); !allowed.ok()) return new RefusedStream<wire::EventBatch>(allowed);
  return EventStream::Begin(deps_, &reads_, *request);
}

grpc::ServerWriteReactor<wire::LogChunk>* JobsService::ReadLogs(Context* context, const wire::ReadLogsRequest* request) {
  if (Status allowed = deps_.auth->Check(*context); !allowed.ok()) return new RefusedStream<wire::LogChunk>(allowed);
  return LogReader::Begin(deps_, &reads_, *request);
}

}  // namespace gt
