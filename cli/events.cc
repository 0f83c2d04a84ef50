// gtctl events: the history of a job, or of the whole cluster.
#include "cli/commands.h"
#include "cli/render.h"
#include "cli/select.h"
#include "cli/watch.h"
#include "common/os/clock.h"
#include "common/text/text.h"

namespace gt {
namespace {

using namespace gridtrain::v1;

class EventsCommand : public CommandBody {
 public:
  void Declare(Args* args) override {
    args->Words("ID", &ids_, 0, 1, "42, 42_7 or @last; none: the whole cluster");
    args->Flag("-f,--follow", &follow_, "go on until the job ends");
  }

  int Run(Session* session) override {
    std::optional<InterruptGuard> guard;
    if (follow_) guard.emplace();
    Result<Client*> client = session->client();
    if (!client.ok()) return session->Fail(client.status());
    if (guard) guard->Attach(*client);
    if (follow_ && session->output() == Output::kJson)
      return session->Usage("followed events are a stream, not one JSON value", "-o jsonl gives one object a line");
    EventsRequest request;
    request.set_follow(follow_);
    if (!ids_.empty()) {
      Result<TaskSelector> job = SelectOne(session, ids_[0]);
      if (!job.ok()) return session->Fail(job.status());
      request.set_job_id(job->job.value);
      if (job->index) request.set_task_index(*job->index);
    }
    Status status = Read(session, *client, &request);
    if ((*client)->interrupted()) return kExitInterrupted;
    if (!status.ok()) return session->Fail(status);
    if (session->output() == Output::kJson) session->Print({{"schema_version", kSchemaVersion}, {"events", list_}});
    return kExitOk;
  }

 private:
  Status Read(Session* session, Client* client, EventsRequest* request) {
    Reconnect reconnect(session);
    bool reached = false;
    while (true) {
      bool end = false;
      Status status = client->Events(*request, [&](const EventBatch& batch) {
        reached = true;
        reconnect.Reached();
        for (const EventLine& event : batch.events()) {
          if (event.seq() <= request->after_seq()) continue;
          request->set_after_seq(event.seq());
          Show(session, event);
        }
        end = batch.end();
        return !end;
      });
      bool broken = status.ok() ? follow_ && !end : status.code() == Code::kUnavailable;
      if (!broken || client->interrupted()) return status;
      Millis until = follow_&& reached ? kNever
                     : deadline_ != 0  ? deadline_
                                       : deadline_ = ReadClock().mono + session->timeout();
      if (!reconnect.Wait(client, until))
        return status.ok() ? Status(Code::kUnavailable, "the coordinator ended the stream") : status;
    }
  }

  void Show(Session* session, const EventLine& event) {
    if (session->json()) {
      Json json = {{"seq", std::to_string(event.seq())},
                   {"time", TimeJson(event.has_at_ms(), event.at_ms())},
                   {"job_id", event.job_id() == 0 ? Json() : Json(std::to_string(event.job_id()))},
                   {"task_index", event.has_task_index() ? Json(event.task_index()) : Json()},
                   {"attempt", event.attempt() == 0 ? Json() : Json(event.attempt())},
                   {"kind", Printable(event.kind())},
                   {"node", event.node().empty() ? Json() : Json(Printable(event.node()))},
                   {"text", Printable(event.text())}};
      if (session->output() == Output::kJson)
        list_.push_back(json);
      else
        session->Print(json);
      return;
    }
    std::string line = FormatTime(event.at_ms()) + "  ";
    if (ids_.empty() && event.job_id() != 0) line += "job " + std::to_string(event.job_id()) + "  ";
    line += Printable(event.kind());
    if (event.has_task_index()) line += " task " + std::to_string(event.task_index());
    if (event.attempt() != 0) line += " attempt " + std::to_string(event.attempt());
    if (!event.node().empty()) line += " on " + Printable(event.node());
    session->Out(line + (event.text().empty() ? "" : "  " + Printable(event.text())) + "\n");
  }

  std::vector<std::string> ids_;
  bool follow_ = false;
  Millis deadline_ = 0;
  Json list_ = Json::array();
};

}  // namespace

std::unique_ptr<CommandBody> MakeEvents() { return std::make_unique<EventsCommand>(); }

}  // namespace gt
