// gtctl explain: why a job is not running now.
#include "cli/commands.h"
#include "cli/render.h"
#include "cli/select.h"
#include "common/base/units.h"
#include "common/text/text.h"

namespace gt {
namespace {

using namespace gridtrain::v1;

class ExplainCommand : public CommandBody {
 public:
  void Declare(Args* args) override { args->Words("ID", &ids_, 1, 1, "42, 42_7 or @last"); }

  int Run(Session* session) override {
    Result<Client*> client = session->client();
    if (!client.ok()) return session->Fail(client.status());
    Result<TaskSelector> job = SelectOne(session, ids_[0]);
    if (!job.ok()) return session->Fail(job.status());
    GetJobRequest request;
    request.set_job_id(job->job.value);
    if (job->index) request.set_task_index(*job->index);
    ExplainResponse response;
    if (Status status = (*client)->Explain(request, &response); !status.ok()) return session->Fail(status);
    if (session->json())
      ShowJson(session, response);
    else
      Show(session, ToString(*job), response);
    return kExitOk;
  }

 private:
  static void ShowJson(Session* session, const ExplainResponse& response) {
    Json details = Json::array();
    for (const std::string& detail : response.details()) details.push_back(Printable(detail));
    session->Print({{"schema_version", kSchemaVersion},
                    {"job", JobJson(response.summary(), WallMillis())},
                    {"headline", Printable(response.headline())},
                    {"details", details},
                    {"until", TimeJson(response.has_until_ms(), response.until_ms())},
                    {"ahead", response.has_ahead() ? Json(response.ahead()) : Json()}});
  }

  static void Show(Session* session, const std::string& id, const ExplainResponse& response) {
    std::string text = "job " + id + ": " + Printable(response.headline()) + "\n";
    for (const std::string& detail : response.details()) text += "  " + Printable(detail) + "\n";
    if (response.has_ahead() && response.ahead() > 0)
      text += "  " + std::to_string(response.ahead()) + " queued tasks come before it\n";
    if (response.has_until_ms())
      text += "  until " + FormatTime(response.until_ms()) + " (in " +
              HumanDuration(std::max<Millis>(response.until_ms() - WallMillis(), 0)) + ")\n";
    session->Out(text);
  }

  std::vector<std::string> ids_;
};

}  // namespace

std::unique_ptr<CommandBody> MakeExplain() { return std::make_unique<ExplainCommand>(); }

}  // namespace gt
