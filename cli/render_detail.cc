#include "cli/render_detail.h"

#include "cli/render.h"
#include "common/base/ids.h"
#include "common/base/units.h"
#include "common/text/job_check.h"
#include "common/text/text.h"

namespace gt {

using namespace gridtrain::v1;

namespace {

constexpr size_t kLabel = 12;

std::string Line(const std::string& label, const std::string& value) {
  return label + std::string(label.size() < kLabel ? kLabel - label.size() : 1, ' ') + (value.empty() ? "-" : value) +
         "\n";
}

std::string When(bool known, Millis utc, Millis now) {
  return known ? FormatTime(utc) + " (" + HumanDuration(std::max<Millis>(now - utc, 0)) + " ago)" : "";
}

std::string Wants(const JobSpec& spec) {
  JobShape shape = ShapeOf(spec);
  std::string text = std::to_string(shape.nodes) + (shape.nodes == 1 ? " node" : " nodes") + ", " +
                     std::to_string(shape.ranks_per_node) + (shape.ranks_per_node == 1 ? " rank" : " ranks") +
                     " each, " + std::to_string(shape.cpus_per_node) + (shape.cpus_per_node == 1 ? " CPU" : " CPUs");
  if (shape.gpus_per_node > 0) text += ", " + std::to_string(shape.gpus_per_node) + (shape.gpus_per_node == 1 ? " GPU" : " GPUs");
  if (shape.memory_per_node > 0) text += ", " + FormatBytes(shape.memory_per_node);
  return text;
}

std::string TrainProgram(const gridtrain::v1::TrainSpec& train) {
  std::string data = train.data().has_path() ? train.data().path() : train.data().format();
  std::string batch = train.has_global_batch_size() ? std::to_string(train.global_batch_size()) + " over all ranks"
                                                    : std::to_string(train.batch_size());
  return "train " + Printable(train.model().name()) + " on " + Printable(data) + ", batch " + batch + ", " +
         std::to_string(train.epochs()) + " epochs";
}

std::string Program(const JobSpec& spec) {
  if (spec.has_train())
    return TrainProgram(spec.train());
  std::string text;
  for (const std::string& word : spec.run().command()) {
    bool plain = !word.empty() && word.find_first_of(" \t\n'\"\\$") == std::string::npos;
    text += (text.empty() ? "" : " ") + (plain ? Printable(word) : "'" + Printable(word) + "'");
  }
  constexpr size_t kMostColumns = 200;
  return DisplayWidth(text) > kMostColumns ? std::string(FitColumns(text, kMostColumns)) + "+" : text;
}

std::string ShownProgress(const Progress& progress) {
  std::string text = "step " + std::to_string(progress.step());
  if (progress.total_steps() > 0) text += " of " + std::to_string(progress.total_steps());
  if (!progress.phase().empty()) text += ", " + Printable(progress.phase());
  std::map<std::string, double> metrics(progress.metrics().begin(), progress.metrics().end());
  for (const auto& [name, value] : metrics) {
    char number[32];
    std::snprintf(number, sizeof number, "%.5g", value);
    text += ", " + Printable(name) + " " + number;
  }
  return text;
}

std::string MemberNames(const AttemptDetail& attempt) {
  std::string names;
  for (const MemberDetail& member : attempt.members()) names += (names.empty() ? "" : ",") + member.node();
  return names;
}

std::string AttemptTable(const JobDetail& detail, const TableStyle& style, Millis now) {
  bool array = detail.summary().array();
  Table table({{"TASK", Align::kRight},
               {"ATT", Align::kRight},
               {"PHASE"},
               {"CAUSE"},
               {"RAN", Align::kRight},
               {"CHARGED"},
               {"NODES", Align::kLeft, 40},
               {"MESSAGE", Align::kLeft, 80}});
  for (const TaskDetail& task : detail.tasks()) {
    std::string id = ToString(TaskId{JobId{detail.summary().job_id()}, task.index()}, array);
    if (task.attempts_size() == 0) table.Add({id, "", StateName(task.state()), "", "", "", "", task.reason()});
    for (const AttemptDetail& attempt : task.attempts()) {
      bool ended = attempt.phase() == PHASE_ENDED;
      std::string ran =
          attempt.has_running_ms()
              ? HumanDuration(std::max<Millis>((ended ? attempt.ended_ms() : now) - attempt.running_ms(), 0))
              : "";
      table.Add({id, std::to_string(attempt.number()), PhaseName(attempt.phase()),
                 ended ? CauseName(attempt.cause()) : "", ran, ended ? (attempt.charged() ? "yes" : "no") : "",
                 MemberNames(attempt), attempt.message()});
    }
  }
  return table.rows() == 0 ? "" : "\n" + table.Render(style);
}

std::string Failures(const JobDetail& detail) {
  std::string text;
  for (const TaskDetail& task : detail.tasks()) {
    if (task.attempts_size() == 0) continue;
    const AttemptDetail& attempt = task.attempts(task.attempts_size() - 1);
    if (!attempt.has_first_failure()) continue;
    const FailedRank& failed = attempt.first_failure();
    std::string how = failed.signal() != 0 ? "signal " + std::to_string(failed.signal())
                                           : "exit code " + std::to_string(failed.code());
    // The coordinator's message says where and how by itself.
    std::string what = failed.message().empty()
                           ? "rank " + std::to_string(failed.rank()) + " on " + Printable(failed.node()) + ", " + how
                           : Printable(failed.message());
    std::string of_task = detail.summary().array() ? " of task " + std::to_string(task.index()) : "";
    text += "\nfirst failure" + of_task + ": " + what + "\n";
    for (const std::string& line : failed.last_lines()) text += "  | " + Printable(line) + "\n";
  }
  return text;
}

Json KnownOr(bool known, Json value) { return known ? std::move(value) : Json(); }

Json RanksJson(const MemberDetail& member) {
  Json ranks = Json::array();
  for (const RankExit& rank : member.ranks())
    ranks.push_back({{"rank", rank.rank()},
                     {"exit_code", KnownOr(rank.has_code() && rank.signal() == 0, rank.code())},
                     {"signal", KnownOr(rank.signal() != 0, rank.signal())},
                     {"started", TimeJson(rank.has_started_ms(), rank.started_ms())},
                     {"ended", TimeJson(rank.has_ended_ms(), rank.ended_ms())},
                     {"message", KnownOr(rank.has_message(), Printable(rank.message()))},
                     {"peak_memory", KnownOr(rank.has_peak_memory(), rank.peak_memory())}});
  return ranks;
}

Json AttemptJson(const AttemptDetail& attempt) {
  Json members = Json::array();
  for (const MemberDetail& member : attempt.members()) {
    Json gpus = Json::array();
    for (const std::string& uuid : member.gpu_uuids()) gpus.push_back(Printable(uuid));
    members.push_back({{"node", Printable(member.node())},
                       {"group_rank", member.group_rank()},
                       {"phase", PhaseName(member.phase())},
                       {"gpu_uuids", gpus},
                       {"ranks", RanksJson(member)}});
  }
  Json failure;
  if (attempt.has_first_failure()) {
    const FailedRank& failed = attempt.first_failure();
    Json lines = Json::array();
    for (const std::string& line : failed.last_lines()) lines.push_back(Printable(line));
    failure = {{"rank", failed.rank()},
               {"node", Printable(failed.node())},
               {"exit_code", KnownOr(failed.signal() == 0, failed.code())},
               {"signal", KnownOr(failed.signal() != 0, failed.signal())},
               {"message", KnownOr(failed.has_message(), Printable(failed.message()))},
               {"last_lines", lines}};
  }
  bool has_cause = attempt.has_cause() && attempt.cause() != CAUSE_NONE;
  return {{"uid", ToHex(Uid{attempt.uid().high(), attempt.uid().low()})},
          {"number", attempt.number()},
          {"phase", PhaseName(attempt.phase())},
          {"generation", attempt.generation()},
          {"placed", TimeJson(attempt.has_placed_ms(), attempt.placed_ms())},
          {"running", TimeJson(attempt.has_running_ms(), attempt.running_ms())},
          {"ended", TimeJson(attempt.has_ended_ms(), attempt.ended_ms())},
          {"cause", KnownOr(has_cause, CauseName(attempt.cause()))},
          {"message", KnownOr(attempt.has_message(), Printable(attempt.message()))},
          {"charged", attempt.charged()},
          {"master", KnownOr(attempt.has_master(), Printable(attempt.master()))},
          {"checkpoint", KnownOr(attempt.has_checkpoint(), Printable(attempt.checkpoint()))},
          {"checkpoint_step", KnownOr(attempt.has_checkpoint_step(), attempt.checkpoint_step())},
          {"first_failure", failure},
          {"members", members}};
}

}  // namespace

std::string DetailText(const JobDetail& detail, const TableStyle& style, Millis now) {
  const JobSummary& job = detail.summary();
  std::string state = Paint(ShownState(job), StateColour(job), style.colour);
  std::string text =
      Line("job", std::to_string(job.job_id()) + (job.name().empty() ? "" : "  " + Printable(job.name()))) +
      Line("state", state);
  if (!job.reason().empty()) text += Line("reason", Printable(job.reason()));
  text += Line("owner", Printable(job.owner())) + Line("runs", Program(detail.spec())) +
          Line("wants", Wants(detail.spec())) + Line("priority", std::to_string(job.priority()));
  if (job.array())
    text += Line("tasks", std::to_string(job.tasks()) + ": " + std::to_string(job.queued()) + " queued, " +
                              std::to_string(job.active()) + " active, " + std::to_string(job.succeeded()) +
                              " succeeded, " + std::to_string(job.failed()) + " failed, " +
                              std::to_string(job.cancelled()) + " cancelled");
  text += Line("submitted", When(job.has_submitted_ms(), job.submitted_ms(), now));
  if (job.has_started_ms()) text += Line("started", When(true, job.started_ms(), now));
  if (job.has_ended_ms()) text += Line("ended", When(true, job.ended_ms(), now));
  if (job.has_progress() && job.progress().has_step()) text += Line("progress", ShownProgress(job.progress()));
  if (job.has_exit_code()) text += Line("exit code", std::to_string(job.exit_code()));
  return text + AttemptTable(detail, style, now) + Failures(detail);
}

Json DetailJson(const JobDetail& detail, Millis now) {
  Json json = JobJson(detail.summary(), now);
  json["spec"] = ToJson(detail.spec(), {.nulls = true, .seconds = true});
  Json tasks = Json::array();
  for (const TaskDetail& task : detail.tasks()) {
    Json attempts = Json::array();
    for (const AttemptDetail& attempt : task.attempts()) attempts.push_back(AttemptJson(attempt));
    bool has_cause = task.has_cause() && task.cause() != CAUSE_NONE;
    tasks.push_back({{"id", ToString(TaskId{JobId{detail.summary().job_id()}, task.index()}, detail.summary().array())},
                     {"index", task.index()},
                     {"state", StateName(task.state())},
                     {"cause", KnownOr(has_cause, CauseName(task.cause()))},
                     {"reason", KnownOr(!task.reason().empty(), Printable(task.reason()))},
                     {"attempts", attempts}});
  }
  json["task_list"] = tasks;
  return json;
}

}  // namespace gt
