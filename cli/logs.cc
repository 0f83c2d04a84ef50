// gtctl logs: what a job's ranks printed.
#include <charconv>

#include "cli/commands.h"
#include "cli/follow.h"
#include "cli/select.h"
#include "cli/watch.h"
#include "common/text/job_check.h"
#include "common/text/text.h"

namespace gt {
namespace {

using namespace gridtrain::v1;

class LogsCommand : public CommandBody {
 public:
  void Declare(Args* args) override {
    args->Words("ID", &ids_, 1, 1, "42, 42_7 or @last");
    args->Flag("-f,--follow", &follow_, "go on until the job ends; the exit code tells how it ended");
    args->Texts("--rank", &ranks_, "N", "only this rank; repeatable, or 0,3");
    args->Text("--attempt", &attempt_, "N|last|all", "which attempt; default: last");
    args->Number("--tail", &tail_, "start so many lines before the end");
    args->Choice("--stream", &stream_, {"out", "err", "all"}, "only one stream of the ranks; default: all");
    args->Flag("-t,--timestamps", &timestamps_, "when each line was printed, UTC");
    args->Choice("--prefix", &prefix_, {"auto", "always", "never"},
                 "\"[rank N]\" before each line; default: auto, with several ranks");
    args->Flag("--propagate-exit-code", &propagate_, "with -f, exit with the job's own code");
  }

  int Run(Session* session) override {
    LogSelection selection;
    if (std::string problem = FillSelection(&selection); !problem.empty()) return session->Usage(problem);
    if (session->output() == Output::kJson)
      return session->Usage("logs are a stream of lines, not one JSON value", "-o jsonl gives one object a line");
    std::optional<InterruptGuard> guard;
    if (follow_) guard.emplace();
    Result<Client*> client = session->client();
    if (!client.ok()) return session->Fail(client.status());
    if (guard) guard->Attach(*client);
    Result<TaskSelector> job = SelectOne(session, ids_[0]);
    if (!job.ok()) return session->Fail(job.status());
    selection.job = *job;
    GetJobRequest request;
    request.set_job_id(job->job.value);
    if (job->index) request.set_task_index(*job->index);
    JobDetail detail;
    if (Status status = (*client)->GetJob(request, &detail); !status.ok())
      return (*client)->interrupted() ? Detach(*session, {*job}) : session->Fail(status);
    if (detail.summary().array() && !job->index)
      return session->Usage("job " + ToString(*job) + " is an array; name one of its tasks, for example " +
                            ToString(*job) + "_" + std::to_string(ShapeOf(detail.spec()).indices.first));
    uint32_t ranks = static_cast<uint32_t>(ShapeOf(detail.spec()).world_size);
    for (uint32_t rank : selection.ranks)
      if (rank >= ranks)
        return session->Fail(Status(Code::kNotFound, "job " + ToString(*job) + " has no rank " + std::to_string(rank)),
                             ranks == 1 ? "its only rank is 0" : "its ranks are 0 to " + std::to_string(ranks - 1));
    return Print(session, *client, selection, ShapeOf(detail.spec()).world_size, IsFinalJob(detail.summary()));
  }

 private:
  std::string FillSelection(LogSelection* selection) const {
    selection->follow = follow_;
    selection->tail = tail_.value_or(0);
    for (std::string text : ranks_) {
      for (size_t begin = 0; begin <= text.size();) {
        size_t end = std::min(text.find(',', begin), text.size());
        uint32_t rank = 0;
        if (!Number(text.substr(begin, end - begin), &rank))
          return "--rank takes numbers, not \"" + Printable(text) + "\"";
        selection->ranks.push_back(rank);
        begin = end + 1;
      }
    }
    if (attempt_ == "all")
      selection->all_attempts = true;
    else if (attempt_ && *attempt_ != "last" && (!Number(*attempt_, &selection->attempt) || selection->attempt == 0))
      return "--attempt takes a number from 1, last or all, not \"" + Printable(*attempt_) + "\"";
    if (tail_ == 0) return "--tail 0 shows nothing";
    return "";
  }

  static bool Number(const std::string& text, uint32_t* value) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
    return !text.empty() && error == std::errc() && end == text.data() + text.size();
  }

  int Print(Session* session, Client* client, const LogSelection& selection, int world_size, bool over) const {
    LogStyle style;
    style.json = session->output() == Output::kJsonLines;
    style.timestamps = timestamps_;
    style.prefix = !style.json && WantsPrefix(prefix_.value_or("auto"), world_size, selection.ranks);
    style.whole_lines = world_size > 1 && selection.ranks.size() != 1;
    style.stream = stream_ == "out" ? 1 : stream_ == "err" ? 2 : 0;
    if (follow_) return FollowJob(session, client, selection, style, propagate_);
    LogPrinter printer(style, session->io().out);
    if (Status status = PrintLogs(session, client, selection, &printer); !status.ok()) return session->Fail(status);
    if (printer.empty())
      session->Note(over ? "it printed nothing"
                         : "nothing has been printed yet; -f waits for it, gtctl explain " + ToString(selection.job) +
                               " says why");
    return kExitOk;
  }

  std::vector<std::string> ids_, ranks_;
  std::optional<std::string> attempt_, stream_, prefix_;
  std::optional<uint64_t> tail_;
  bool follow_ = false, timestamps_ = false, propagate_ = false;
};

}  // namespace

std::unique_ptr<CommandBody> MakeLogs() { return std::make_unique<LogsCommand>(); }

}  // namespace gt
