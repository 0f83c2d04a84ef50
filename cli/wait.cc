// gtctl wait: until jobs have ended; the exit code tells how.
#include <mutex>
#include <thread>

#include "cli/commands.h"
#include "cli/follow.h"
#include "cli/render.h"
#include "cli/select.h"
#include "cli/watch.h"
#include "common/os/clock.h"

namespace gt {
namespace {

using namespace gridtrain::v1;

constexpr size_t kMaxAny = 100;  // watched side by side

class WaitCommand : public CommandBody {
 public:
  void Declare(Args* args) override {
    args->Words("ID", &ids_, 1, 0, "42, 42_7, 12-20, @last");
    args->Flag("--any", &any_, "until one of them has ended, not all");
    args->Duration("--timeout", &timeout_, "give up after this long, with exit code 14; the jobs run on");
    args->Flag("--propagate-exit-code", &propagate_, "exit with the jobs' own codes (the highest)");
  }

  int Run(Session* session) override {
    int code = Wait(session);
    bool ours = code == kExitFailed || (code >= kExitUsage && code <= kExitUnreachable);
    return propagate_ && ours && !told_ ? static_cast<int>(kExitPropagateFailed) : code;
  }

 private:
  int Wait(Session* session) {
    InterruptGuard guard;
    if (timeout_) session->AllowTime(std::min(*timeout_, kDefaultTimeout));
    Result<Client*> client = session->client();
    if (!client.ok()) return session->Fail(client.status());
    guard.Attach(*client);
    Result<std::vector<TaskSelector>> jobs = Select(session, ids_);
    if (!jobs.ok()) return session->Fail(jobs.status());
    if (any_ && jobs->size() > kMaxAny)
      return session->Usage("--any takes at most " + std::to_string(kMaxAny) + " jobs");
    for (const TaskSelector& job : *jobs)
      if (Status status = Reachable(*client, job); !status.ok())
        return (*client)->interrupted() ? Detach(*session, *jobs) : session->Fail(status);
    Millis until = timeout_ ? ReadClock().mono + *timeout_ : kNever;
    return any_ ? WaitAny(session, *client, *jobs, until) : WaitAll(session, *client, *jobs, until);
  }

  // Before any waiting: an unknown job or a coordinator that is not there is an error at once.
  static Status Reachable(Client* client, const TaskSelector& job) {
    GetJobRequest request;
    request.set_job_id(job.job.value);
    if (job.index) request.set_task_index(*job.index);
    JobDetail detail;
    return client->GetJob(request, &detail);
  }

  int WaitAll(Session* session, Client* client, const std::vector<TaskSelector>& jobs, Millis until) {
    std::vector<JobSummary> ended;
    for (const TaskSelector& job : jobs) {
      std::string last;
      Result<JobSummary> end = WatchJob(session, client, job, until, [&](const JobSummary& summary) {
        std::string line = "job " + ToString(job) + " " + ShownState(summary);
        if (line != last && !IsFinalJob(summary)) session->Progress(line);
        last = line;
        return true;
      });
      if (client->interrupted()) return Detach(*session, jobs);
      if (end.ok())
        ended.push_back(*end);
      else if (end.status().code() == Code::kDeadlineExceeded)
        return StillRunning(session, job);
      else
        return session->Fail(end.status());
    }
    return Tell(session, ended);
  }

  int WaitAny(Session* session, Client* client, const std::vector<TaskSelector>& jobs, Millis until) {
    std::mutex mutex;
    std::optional<JobSummary> first;
    Status failure;
    std::vector<std::thread> threads;
    auto over = [&](const JobSummary&) {
      std::lock_guard lock(mutex);
      return !first.has_value();
    };
    for (const TaskSelector& job : jobs) {
      threads.emplace_back([&, job] {
        Result<JobSummary> end = WatchJob(session, client, job, until, over);
        std::lock_guard lock(mutex);
        if (first) return;
        if (end.ok())
          first = *end, client->Interrupt();  // lets the other threads go
        else if (failure.ok())
          failure = end.status();
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (first) return Tell(session, {*first});
    if (client->interrupted()) return Detach(*session, jobs);
    return failure.code() == Code::kDeadlineExceeded ? StillRunning(session, jobs[0]) : session->Fail(failure);
  }

  static int StillRunning(Session* session, const TaskSelector& job) {
    session->Note("job " + ToString(job) + " still runs");
    return kExitStillRunning;
  }

  int Tell(Session* session, const std::vector<JobSummary>& jobs) {
    told_ = true;
    Millis now = WallMillis();
    int code = kExitOk;
    Json list = Json::array();
    for (const JobSummary& job : jobs) {
      code = std::max(code, ExitCodeOf(job, propagate_));
      list.push_back(JobJson(job, now));
    }
    if (session->output() == Output::kJsonLines) {
      for (const Json& job : list) session->Print(job);
    } else if (session->json()) {
      session->Print({{"schema_version", kSchemaVersion}, {"jobs", list}});
    } else if (!session->quiet()) {
      session->Out(JobTable(jobs, session->output() == Output::kWide, session->style(), now));
    }
    return code;
  }

  std::vector<std::string> ids_;
  std::optional<Millis> timeout_;
  bool any_ = false, propagate_ = false, told_ = false;
};

}  // namespace

std::unique_ptr<CommandBody> MakeWait() { return std::make_unique<WaitCommand>(); }

}  // namespace gt
