#include "cli/render.h"

#include <algorithm>

#include "common/base/units.h"
#include "common/base/vocabulary.h"
#include "common/os/clock.h"
#include "common/text/text.h"

namespace gt {

using namespace gridtrain::v1;

namespace {

std::string Unknown(int value) { return "UNKNOWN(" + std::to_string(value) + ")"; }

std::string Age(Millis duration) { return duration < kSecond ? "0s" : HumanDuration(duration); }

Millis QueuedFor(const JobSummary& job, Millis now) {
  Millis end = job.has_started_ms() ? job.started_ms() : job.has_ended_ms() ? job.ended_ms() : now;
  return std::max<Millis>(end - job.submitted_ms(), 0);
}
// -1: has not run
Millis RanFor(const JobSummary& job, Millis now) {
  if (!job.has_started_ms()) return -1;
  return std::max<Millis>((job.has_ended_ms() ? job.ended_ms() : now) - job.started_ms(), 0);
}

std::string Reason(const JobSummary& job) {
  if (!job.reason().empty()) return job.reason();
  bool told = job.cause() != CAUSE_NONE && job.cause() != CAUSE_SUCCEEDED && IsFinalJob(job);
  return told ? CauseName(job.cause()) : "";
}

std::string Step(const Progress& progress) {
  if (!progress.has_step()) return "";
  return std::to_string(progress.step()) +
         (progress.total_steps() > 0 ? "/" + std::to_string(progress.total_steps()) : "");
}

std::string Joined(const google::protobuf::RepeatedPtrField<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ",") + name;
  return all;
}

template <typename Value>
Json OrNull(bool known, const Value& value) {
  return known ? Json(value) : Json(nullptr);
}
Json TextOrNull(bool known, const std::string& text) {
  return known ? Json(IsUtf8(text) ? text : Printable(text)) : Json(nullptr);
}
Json SecondsOrNull(bool known, Millis duration) {
  if (!known) return nullptr;
  return duration % 1000 == 0 ? Json(duration / 1000) : Json(static_cast<double>(duration) / 1000);
}

Json ProgressJson(const Progress& progress) {
  Json metrics = Json::object();
  std::vector<std::string> names;
  for (const auto& [name, value] : progress.metrics()) names.push_back(name);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) metrics[IsUtf8(name) ? name : Printable(name)] = progress.metrics().at(name);
  return {{"step", OrNull(progress.has_step(), progress.step())},
          {"total_steps", OrNull(progress.has_total_steps(), progress.total_steps())},
          {"samples", OrNull(progress.has_samples(), progress.samples())},
          {"phase", TextOrNull(progress.has_phase(), progress.phase())},
          {"metrics", metrics},
          {"at", TimeJson(progress.has_at_ms(), progress.at_ms())}};
}

}  // namespace

Millis WallMillis() { return ReadClock().wall; }

std::string StateName(int value) {
  bool known = value >= 0 && value <= static_cast<int>(TaskState::kCancelled);
  return known ? std::string(Name(static_cast<TaskState>(value))) : Unknown(value);
}
std::string PhaseName(int value) {
  bool known = value >= 0 && value <= static_cast<int>(AttemptPhase::kEnded);
  return known ? std::string(Name(static_cast<AttemptPhase>(value))) : Unknown(value);
}
std::string CauseName(int value) {
  bool known = value >= 0 && value <= static_cast<int>(Cause::kTimeLimit);
  return known ? std::string(Name(static_cast<Cause>(value))) : Unknown(value);
}

bool IsFinalJob(const JobSummary& job) { return IsFinal(static_cast<TaskState>(job.state())); }

std::string ShownState(const JobSummary& job) {
  if (!IsFinalJob(job) && job.cancel_requested()) return "CANCELLING";
  if (job.array() && job.state() == TASK_ACTIVE) {
    uint32_t done = job.succeeded() + job.failed() + job.cancelled();
    return "ACTIVE " + std::to_string(done) + "/" + std::to_string(job.tasks());
  }
  return job.state() == TASK_ACTIVE && job.has_phase() ? PhaseName(job.phase()) : StateName(job.state());
}

Colour StateColour(const JobSummary& job) {
  switch (job.state()) {
    case TASK_SUCCEEDED:
      return Colour::kGreen;
    case TASK_FAILED:
      return Colour::kRed;
    case TASK_CANCELLED:
      return Colour::kDim;
    case TASK_QUEUED:
      return Colour::kYellow;
    case TASK_ACTIVE:
      return Colour::kPlain;
  }
  return Colour::kPlain;
}

std::string JobTable(const std::vector<JobSummary>& jobs, bool wide, const TableStyle& style, Millis now) {
  constexpr size_t kStateColumn = 2;
  std::vector<Column> columns = {{"ID", Align::kRight},        {"NAME", Align::kLeft, 32}, {"STATE"},
                                 {"REASON", Align::kLeft, 60}, {"NODES", Align::kRight},   {"GPUS", Align::kRight},
                                 {"QUEUED", Align::kRight},    {"RAN", Align::kRight},     {"ATT", Align::kRight}};
  if (wide)
    columns.insert(columns.end(), {{"USER"},
                                   {"PRIORITY", Align::kRight},
                                   {"STEP", Align::kRight},
                                   {"EXIT", Align::kRight},
                                   {"NODELIST", Align::kLeft, 60}});
  Table table(columns);
  for (const JobSummary& job : jobs) {
    Millis ran = RanFor(job, now);
    std::vector<std::string> cells = {std::to_string(job.job_id()),
                                      job.name(),
                                      ShownState(job),
                                      Reason(job),
                                      std::to_string(job.nodes()),
                                      std::to_string(job.nodes() * job.gpus_per_node()),
                                      Age(QueuedFor(job, now)),
                                      ran < 0 ? "" : Age(ran),
                                      job.attempts() == 0 ? "" : std::to_string(job.attempts())};
    if (wide)
      cells.insert(cells.end(), {job.owner(), std::to_string(job.priority()), Step(job.progress()),
                                 job.has_exit_code() ? std::to_string(job.exit_code()) : "", Joined(job.node_names())});
    table.Add(std::move(cells), StateColour(job));
  }
  return table.Render(style, kStateColumn);
}

Json TimeJson(bool known, Millis utc) { return known ? Json(FormatTime(utc)) : Json(nullptr); }

Json JobJson(const JobSummary& job, Millis now) {
  Json nodes = Json::array();
  for (const std::string& name : job.node_names()) nodes.push_back(IsUtf8(name) ? name : Printable(name));
  bool has_cause = job.has_cause() && job.cause() != CAUSE_NONE;
  return {{"id", std::to_string(job.job_id())},
          {"name", TextOrNull(job.has_name() && !job.name().empty(), job.name())},
          {"owner", TextOrNull(job.has_owner(), job.owner())},
          {"state", StateName(job.state())},
          {"phase", OrNull(job.has_phase() && job.state() == TASK_ACTIVE, PhaseName(job.phase()))},
          {"reason", TextOrNull(!job.reason().empty(), job.reason())},
          {"cause", OrNull(has_cause, CauseName(job.cause()))},
          {"nodes", job.nodes()},
          {"gpus_per_node", job.gpus_per_node()},
          {"priority", job.priority()},
          {"submitted", TimeJson(job.has_submitted_ms(), job.submitted_ms())},
          {"started", TimeJson(job.has_started_ms(), job.started_ms())},
          {"ended", TimeJson(job.has_ended_ms(), job.ended_ms())},
          {"queued_seconds", SecondsOrNull(job.has_submitted_ms(), QueuedFor(job, now))},
          {"ran_seconds", SecondsOrNull(job.has_started_ms(), RanFor(job, now))},
          {"attempts", job.attempts()},
          {"array", job.array()},
          {"tasks",
           {{"total", job.tasks()},
            {"queued", job.queued()},
            {"active", job.active()},
            {"succeeded", job.succeeded()},
            {"failed", job.failed()},
            {"cancelled", job.cancelled()}}},
          {"cancel_requested", job.cancel_requested()},
          {"progress", job.has_progress() ? ProgressJson(job.progress()) : Json(nullptr)},
          {"exit_code", OrNull(job.has_exit_code(), job.exit_code())},
          {"node_names", nodes}};
}

std::string Outcome(const JobSummary& job, const std::string& id) {
  std::string text = "job " + (id.empty() ? std::to_string(job.job_id()) : id);
  if (!job.name().empty()) text += " (" + Printable(job.name()) + ")";
  switch (job.state()) {
    case TASK_SUCCEEDED:
      text += " succeeded";
      break;
    case TASK_FAILED:
      text += " failed";
      break;
    case TASK_CANCELLED:
      text += " was cancelled";
      break;
    default:
      text += " is " + ShownState(job);
      break;
  }
  std::string reason = job.state() == TASK_SUCCEEDED ? "" : Printable(Reason(job));
  return text + (reason.empty() ? "" : ": " + reason);
}

std::string NextStep(const JobSummary& job) {
  std::string id = std::to_string(job.job_id());
  switch (job.state()) {
    case TASK_QUEUED:
      return "gtctl explain " + id + " says what it waits for";
    case TASK_ACTIVE:
      return "gtctl logs " + id + " -f shows what it prints";
    case TASK_FAILED:
      return "gtctl status " + id + " says who failed first; gtctl logs " + id + " --tail 50 shows the end";
    default:
      return "gtctl events " + id + " tells its history";
  }
}

}  // namespace gt
