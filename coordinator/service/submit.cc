#include "coordinator/core/explain.h"
#include "coordinator/service/jobs_service.h"

namespace gt {
namespace {

constexpr int kMaxJobs = 1000;

// One Submit from its arrival to its answer; belongs to the loop item that carries it.
struct SubmitCall {
  const wire::SubmitRequest* request;
  wire::SubmitResponse* response;
  grpc::ServerUnaryReactor* reactor;
  bool refused = false;

  // Requests that are wrong in themselves. False: the answer says why.
  bool Check() {
    for (const auto& one : request->jobs()) {
      wire::SubmitResponse::One* answer = response->add_jobs();
      for (std::string& problem : CheckSubmit(one)) answer->add_problems(std::move(problem));
      refused |= answer->problems_size() > 0;
    }
    return !refused;
  }

  // On the loop, for a request of several jobs: all of them or none. (The core asks the same for each one.)
  Status Admit(const ClusterState& state, const std::vector<Shape>& shapes) {
    for (size_t i = 0; i < shapes.size() && !state.nodes.empty(); i++) {
      int at = static_cast<int>(i);
      if (state.keys.contains(request->jobs(at).client_key())) continue;  // it was admitted before
      std::string why = Infeasible(state, shapes[i]);
      if (why.empty()) continue;
      response->mutable_jobs(at)->add_problems(why);
      refused = true;
    }
    return refused ? Status(Code::kInvalidArgument, "no node could ever run it") : OkStatus();
  }

  void Done(const Status& status, std::span<const Reply> replies) {
    if (!status.ok()) return reactor->Finish(refused ? grpc::Status::OK : ToGrpc(status));
    for (size_t i = 0; i < replies.size(); i++) {
      const auto& reply = std::get<SubmitReply>(replies[i]);
      wire::SubmitResponse::One* answer = response->mutable_jobs(static_cast<int>(i));
      answer->set_job_id(reply.job.value);
      if (reply.duplicate) answer->set_duplicate(true);
      for (const std::string& problem : reply.problems) answer->add_problems(problem);
      for (const std::string& warning : reply.warnings) answer->add_warnings(warning);
    }
    reactor->Finish(grpc::Status::OK);
  }
};

Status CheckSize(const wire::SubmitRequest& request) {
  if (request.jobs_size() == 0) return {Code::kInvalidArgument, "the request names no job"};
  if (request.jobs_size() > kMaxJobs) return {Code::kInvalidArgument, "at most 1,000 jobs can be submitted by one request"};
  return OkStatus();
}

}  // namespace

grpc::ServerUnaryReactor* JobsService::Submit(Context* context, const wire::SubmitRequest* request, wire::SubmitResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  Status status = deps_.auth->Check(*context);
  if (status.ok()) status = CheckSize(*request);
  Now now = deps_.clock();
  if (status.ok() && deps_.disk->Look(now.mono) == Space::kNone)
    status = {Code::kResourceExhausted, "the coordinator's disk is nearly full (" + deps_.facts.data_dir + "); no new jobs are taken"};
  if (!status.ok()) {
    reactor->Finish(ToGrpc(status));
    return reactor;
  }
  auto call = std::make_shared<SubmitCall>(SubmitCall{request, response, reactor});
  if (!call->Check()) {
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  LoopItem item;
  std::vector<Shape> shapes;
  item.commands.reserve(request->jobs_size());
  for (const auto& one : request->jobs()) {
    Job job = ConvertJob(one, request->owner(), now.wall);
    shapes.push_back(job.shape);
    item.commands.emplace_back(std::in_place_type<SubmitJob>, std::move(job), request->dry_run());
  }
  if (shapes.size() > 1 && !request->dry_run()) item.admit = [call, shapes = std::move(shapes)](const ClusterState& state) { return call->Admit(state, shapes); };
  item.done = [call](const Status& why, std::span<const Reply> replies) { call->Done(why, replies); };
  if (Status queued = deps_.loop->Push(std::move(item)); !queued.ok()) reactor->Finish(ToGrpc(queued));
  return reactor;
}

}  // namespace gt
