// gtctl list: jobs, newest first.
#include <algorithm>

#include "cli/commands.h"
#include "cli/render.h"
#include "common/base/vocabulary.h"

namespace gt {
namespace {

using namespace gridtrain::v1;

constexpr uint64_t kDefaultLimit = 50;
constexpr uint32_t kPage = 1000;

class ListCommand : public CommandBody {
 public:
  void Declare(Args* args) override {
    args->Texts("--state", &states_, "STATE",
                "only jobs in this state (queued, active, succeeded, failed, cancelled); repeatable");
    args->Text("--user", &user_, "NAME", "only jobs of this user; \"me\" is you");
    args->Text("--name", &name_, "GLOB", "only jobs whose name matches, for example 'mnist-*'");
    args->Number("--limit", &limit_, "at most so many jobs; default: 50");
    args->Flag("-a,--all", &all_, "finished jobs too");
  }

  int Run(Session* session) override {
    Result<ListRequest> request = MakeRequest(*session);
    if (!request.ok())
      return session->Usage(request.status().message(), "states: queued, active, succeeded, failed, cancelled");
    Result<Client*> client = session->client();
    if (!client.ok()) return session->Fail(client.status());
    std::vector<JobSummary> jobs;
    bool more = false;
    uint64_t live = 0;
    uint64_t limit = limit_.value_or(kDefaultLimit);
    do {
      ListResponse response;
      request->set_limit(static_cast<uint32_t>(std::min<uint64_t>(kPage, limit - jobs.size())));
      if (Status status = (*client)->List(*request, &response); !status.ok()) return session->Fail(status);
      jobs.insert(jobs.end(), response.jobs().begin(), response.jobs().end());
      more = response.more() && response.jobs_size() > 0;
      live = response.total_live();
      if (!jobs.empty()) request->set_before_id(jobs.back().job_id());
    } while (more && jobs.size() < limit);
    Show(session, jobs, more, live);
    return kExitOk;
  }

 private:
  Result<ListRequest> MakeRequest(const Session& session) const {
    ListRequest request;
    for (const std::string& text : states_) {
      auto state = StateOf(text);
      if (!state) return Status(Code::kInvalidArgument, "no state \"" + text + "\"");
      request.add_states(*state);
    }
    if (limit_ && *limit_ == 0) return Status(Code::kInvalidArgument, "--limit 0 shows nothing");
    request.set_all(all_);
    if (user_) request.set_owner(*user_ == "me" ? session.UserName() : *user_);
    if (name_) request.set_name_glob(*name_);
    return request;
  }

  static std::optional<WireTaskState> StateOf(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    for (int i = 0; i <= TASK_CANCELLED; ++i)
      if (StateName(i) == text) return static_cast<WireTaskState>(i);
    return std::nullopt;
  }

  void Show(Session* session, const std::vector<JobSummary>& jobs, bool more, uint64_t live) const {
    Millis now = WallMillis();
    switch (session->output()) {
      case Output::kJson: {
        Json list = Json::array();
        for (const JobSummary& job : jobs) list.push_back(JobJson(job, now));
        session->Print({{"schema_version", kSchemaVersion}, {"jobs", list}, {"more", more}, {"total_live", live}});
        return;
      }
      case Output::kJsonLines:
        for (const JobSummary& job : jobs) session->Print(JobJson(job, now));
        return;
      case Output::kName:
        for (const JobSummary& job : jobs) session->Out(std::to_string(job.job_id()) + "\n");
        return;
      case Output::kTable:
      case Output::kWide:
        break;
    }
    if (session->quiet()) {
      for (const JobSummary& job : jobs) session->Out(std::to_string(job.job_id()) + "\n");
      return;
    }
    session->Out(JobTable(jobs, session->output() == Output::kWide, session->style(), now));
    if (more)
      session->Note("shown " + std::to_string(jobs.size()) + ", there are more; --limit shows them");
    else if (jobs.empty() && !all_ && states_.empty())
      session->Note("no live jobs; --all shows finished ones");
  }

  std::vector<std::string> states_;
  std::optional<std::string> user_, name_;
  std::optional<uint64_t> limit_;
  bool all_ = false;
};

}  // namespace

std::unique_ptr<CommandBody> MakeList() { return std::make_unique<ListCommand>(); }

}  // namespace gt
