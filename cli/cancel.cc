// gtctl cancel: jobs are asked to stop.
#include "cli/commands.h"
#include "cli/render.h"
#include "cli/select.h"
#include "cli/watch.h"
#include "common/text/text.h"

namespace gt {
namespace {

using namespace gridtrain::v1;

constexpr size_t kMaxReason = 200;

class CancelCommand : public CommandBody {
 public:
  void Declare(Args* args) override {
    args->Words("ID", &ids_, 1, 0, "42, 42_7, 12-20, @last");
    args->Text("--reason", &reason_, "TEXT", "why, for the history");
    args->Flag("--wait", &wait_, "until they have stopped");
    args->Flag("-y,--yes", &yes_, "several jobs without a question");
  }

  int Run(Session* session) override {
    if (reason_ && reason_->size() > kMaxReason) return session->Usage("--reason takes at most 200 bytes");
    Result<Client*> client = session->client();
    if (!client.ok()) return session->Fail(client.status());
    Result<std::vector<TaskSelector>> jobs = Select(session, ids_);
    if (!jobs.ok()) return session->Fail(jobs.status());
    if (int code = Confirm(session, *jobs); code != kExitOk) return code;
    CancelRequest request;
    for (const TaskSelector& job : *jobs) {
      auto* target = request.add_targets();
      target->set_job_id(job.job.value);
      if (job.index) target->set_task_index(*job.index);
    }
    if (reason_) request.set_reason(*reason_);
    request.set_actor(session->UserName());
    CancelResponse response;
    if (Status status = (*client)->Cancel(request, &response); !status.ok()) return session->Fail(status);
    return Tell(session, *client, *jobs, response);
  }

 private:
  int Confirm(Session* session, const std::vector<TaskSelector>& jobs) const {
    if (jobs.size() < 2 || yes_) return kExitOk;
    if (!session->io().in_terminal || !session->io().err_terminal)
      return session->Usage(std::to_string(jobs.size()) + " jobs would be cancelled", "-y says that this is meant");
    session->io().err("Cancel " + std::to_string(jobs.size()) + " jobs (" + ToString(jobs.front()) + " to " +
                      ToString(jobs.back()) + ")? [y/N] ");
    std::string answer = session->io().ask();
    if (answer == "y" || answer == "Y" || answer == "yes") return kExitOk;
    session->Note("nothing was cancelled");
    return kExitFailed;
  }

  int Tell(Session* session, Client* client, const std::vector<TaskSelector>& jobs,
           const CancelResponse& response) const {
    Json list = Json::array();
    std::string missing;
    for (int i = 0; i < response.results_size(); ++i) {
      const auto& result = response.results(i);
      std::string id = static_cast<size_t>(i) < jobs.size() ? ToString(jobs[static_cast<size_t>(i)])
                                                            : std::to_string(result.job_id());
      bool known = result.outcome() != CancelResponse::One::NOT_FOUND;
      if (!known) missing += (missing.empty() ? "" : ", ") + id;
      bool finished = result.outcome() == CancelResponse::One::ALREADY_FINISHED;
      list.push_back({{"id", id},
                      {"outcome", CancelResponse::One::Outcome_Name(result.outcome())},
                      {"job", known ? JobJson(result.summary(), WallMillis()) : Json()}});
      if (finished)
        session->Note("job " + id + " had ended already (" + ShownState(result.summary()) + ")");
      else if (known && !session->quiet() && !session->json())
        session->Out("cancelling job " + id + "\n");
    }
    if (!missing.empty())
      return session->Fail(Status(Code::kNotFound, "no job " + missing), "gtctl list --all shows the jobs there are");
    if (wait_)
      if (Status status = WaitAll(session, client, jobs); !status.ok()) return session->Fail(status);
    if (session->output() == Output::kJsonLines) {
      for (const Json& one : list) session->Print(one);
    } else if (session->json()) {
      session->Print({{"schema_version", kSchemaVersion}, {"results", list}});
    }
    return kExitOk;
  }

  static Status WaitAll(Session* session, Client* client, const std::vector<TaskSelector>& jobs) {
    for (const TaskSelector& job : jobs) {
      Result<JobSummary> end = WatchJob(session, client, job, kNever, [](const JobSummary&) { return true; });
      if (!end.ok()) return end.status();
      session->Note(Outcome(*end, ToString(job)));
    }
    return OkStatus();
  }

  std::vector<std::string> ids_;
  std::optional<std::string> reason_;
  bool wait_ = false, yes_ = false;
};

}  // namespace

std::unique_ptr<CommandBody> MakeCancel() { return std::make_unique<CancelCommand>(); }

}  // namespace gt
