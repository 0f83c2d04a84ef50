#include "cli/follow.h"

#include <set>
#include <thread>

#include "cli/render.h"
#include "cli/select.h"
#include "cli/watch.h"
#include "common/os/clock.h"
#include "common/text/text.h"

namespace gt {

using namespace gridtrain::v1;

namespace {

ReadLogsRequest MakeRequest(const LogSelection& selection) {
  ReadLogsRequest request;
  request.set_job_id(selection.job.job.value);
  if (selection.job.index) request.set_task_index(*selection.job.index);
  request.set_attempt(selection.attempt);
  request.set_all_attempts(selection.all_attempts);
  request.set_follow(selection.follow);
  if (selection.tail > 0) request.set_tail_lines(selection.tail);
  for (uint32_t rank : selection.ranks) request.add_ranks(rank);
  return request;
}

// The states of a followed job on standard error, where a person looks on: one line at each change.
void TellStates(Session* session, Client* client, const TaskSelector& job) {
  std::string last;
  auto tell = [&](const JobSummary& summary) {
    std::string reason =
        summary.state() == TASK_QUEUED && !summary.reason().empty() ? ": " + Printable(summary.reason()) : "";
    std::string line = "job " + ToString(job) + " " + ShownState(summary) + reason;
    if (line != last && !IsFinalJob(summary)) session->Progress(Paint(line, Colour::kDim, session->style().colour));
    last = line;
    return true;
  };
  WatchRequest request;
  request.set_job_id(job.job.value);
  if (job.index) request.set_task_index(*job.index);
  // Whatever ends it, the follower's own connection tells of it.
  while (!client->interrupted()) {
    Status status = client->Watch(request, kNever, tell);
    if (status.ok() || status.code() != Code::kUnavailable || !client->Pause(kSecond)) return;
  }
}

}  // namespace

bool WantsPrefix(const std::string& kind, int world_size, const std::vector<uint32_t>& ranks) {
  if (kind == "always") return true;
  return kind != "never" && world_size > 1 && ranks.size() != 1;
}

Status PrintLogs(Session* session, Client* client, const LogSelection& selection, LogPrinter* printer) {
  ReadLogsRequest request = MakeRequest(selection);
  std::set<std::string> told;  // a notice that is sent again after a reconnect is not told again
  Reconnect reconnect(session);
  while (true) {
    bool end = false;
    Status status = client->ReadLogs(request, [&](const LogChunk& chunk) {
      reconnect.Reached();
      std::string notice = Printable(chunk.notice());
      if (!notice.empty() &&
          told.insert(std::to_string(chunk.attempt()) + "/" + std::to_string(chunk.rank()) + notice).second)
        printer->Flush(), session->Note(notice);
      printer->Add(chunk);
      end = chunk.end();
      return !end;
    });
    if (client->interrupted()) return Status(Code::kUnavailable, "interrupted");
    bool broken =
        status.ok() ? !end : status.code() == Code::kUnavailable;  // an end without `end` is a coordinator that stops
    if (!broken || (status.ok() && !selection.follow)) {
      printer->Flush();
      return status;
    }
    printer->FillCursors(&request);
    if (!printer->empty()) request.clear_tail_lines();
    Millis until = selection.follow ? kNever : ReadClock().mono + session->timeout();
    if (!reconnect.Wait(client, until))
      return client->interrupted() ? Status(Code::kUnavailable, "interrupted") : status;
  }
}

void TellEnd(const Session& session, const JobSummary& job) {
  if (session.quiet() || session.json()) return;
  TableStyle style = session.style();
  style.terminal = session.io().err_terminal;
  style.colour = style.colour && style.terminal;
  session.io().err("\n" + JobTable({job}, false, style, WallMillis()));
  session.io().err(Outcome(job) + "\nnext: " + NextStep(job) + "\n");
}

int Detach(const Session& session, const std::vector<TaskSelector>& jobs) {
  std::string ids;
  for (const TaskSelector& job : jobs) ids += " " + ToString(job);
  bool one = jobs.size() == 1;
  session.Note(std::string("\ndetached; ") + (one ? "job" : "jobs") + ids + (one ? " runs" : " run") + " on. To stop " +
               (one ? "it" : "them") + ": gtctl cancel" + ids);
  return kExitInterrupted;
}

int FollowJob(Session* session, Client* client, const LogSelection& selection, const LogStyle& style, bool propagate) {
  auto failed = [&](const Status& status) {
    int code = session->Fail(status);
    return propagate ? static_cast<int>(kExitPropagateFailed) : code;
  };
  std::thread states;
  if (session->io().err_terminal && !session->quiet() && !session->json())
    states = std::thread([&] { TellStates(session, client, selection.job); });
  LogPrinter printer(style, session->io().out);
  Status status = PrintLogs(session, client, selection, &printer);
  Result<JobSummary> end = Status(Code::kUnavailable, "interrupted");
  if (status.ok()) end = WatchJob(session, client, selection.job, kNever, [](const JobSummary&) { return true; });
  bool interrupted = client->interrupted();
  if (!end.ok()) client->Interrupt();  // ends the thread of states too
  if (states.joinable()) states.join();
  if (interrupted) return Detach(*session, {selection.job});
  if (!status.ok()) return failed(status);
  if (!end.ok()) return failed(end.status());
  TellEnd(*session, *end);
  return ExitCodeOf(*end, propagate);
}

}  // namespace gt
