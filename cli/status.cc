// gtctl status: all about some jobs.
#include "cli/commands.h"
#include "cli/render.h"
#include "cli/render_detail.h"
#include "cli/select.h"

namespace gt {
namespace {

using namespace gridtrain::v1;

class StatusCommand : public CommandBody {
 public:
  void Declare(Args* args) override { args->Words("ID", &ids_, 1, 0, "42, 42_7, 12-20, @last"); }

  int Run(Session* session) override {
    Result<Client*> client = session->client();
    if (!client.ok()) return session->Fail(client.status());
    Result<std::vector<TaskSelector>> jobs = Select(session, ids_);
    if (!jobs.ok()) return session->Fail(jobs.status());
    std::vector<JobDetail> details;
    for (const TaskSelector& job : *jobs) {
      GetJobRequest request;
      request.set_job_id(job.job.value);
      if (job.index) request.set_task_index(*job.index);
      JobDetail detail;
      if (Status status = (*client)->GetJob(request, &detail); !status.ok())
        return session->Fail(status,
                             status.code() == Code::kNotFound ? "gtctl list --all shows the jobs there are" : "");
      details.push_back(std::move(detail));
    }
    Show(session, details);
    return kExitOk;
  }

 private:
  static void Show(Session* session, const std::vector<JobDetail>& details) {
    Millis now = WallMillis();
    if (session->json()) {
      Json list = Json::array();
      for (const JobDetail& detail : details) list.push_back(DetailJson(detail, now));
      if (session->output() == Output::kJson)
        return session->Print({{"schema_version", kSchemaVersion}, {"jobs", list}});
      for (const Json& one : list) session->Print(one);
      return;
    }
    for (size_t i = 0; i < details.size(); ++i) {
      if (session->quiet())
        session->Out(ShownState(details[i].summary()) + "\n");
      else if (session->output() == Output::kName)
        session->Out(std::to_string(details[i].summary().job_id()) + "\n");
      else
        session->Out((i == 0 ? "" : "\n") + DetailText(details[i], session->style(), now));
    }
  }

  std::vector<std::string> ids_;
};

}  // namespace

std::unique_ptr<CommandBody> MakeStatus() { return std::make_unique<StatusCommand>(); }

}  // namespace gt
