// gtctl submit: a job file, or a command, becomes a job.
#include <unistd.h>

#include <climits>

#include "cli/commands.h"
#include "cli/follow.h"
#include "cli/job_input.h"
#include "cli/render.h"
#include "cli/select.h"
#include "cli/watch.h"
#include "common/os/random.h"
#include "common/text/job_check.h"
#include "common/text/text.h"

namespace gt {
namespace {

using namespace gridtrain::v1;

constexpr size_t kMinKey = 16, kMaxKey = 64;

std::string CurrentFolder() {
  char path[PATH_MAX];
  return ::getcwd(path, sizeof path) ? path : "/";
}

class SubmitCommand : public CommandBody {
 public:
  void Declare(Args* args) override {
    args->Words("FILE", &files_, 0, 1, "job file; - for standard input");
    args->Text("-f,--file", &file_, "FILE", "job file; - for standard input");
    args->Texts("--set", &input_.set, "KEY=VALUE", "overlay one value, for example --set train.epochs=3; repeatable");
    for (auto& [flag, value, kind, help] : flags_) args->Text(flag, &value, kind, help);
    args->Texts("--env", &input_.env, "NAME=VALUE", "variable of the command; repeatable");
    args->Flag("--dry-run", &dry_run_,
               "check the job here and at the coordinator, print it with all defaults, change nothing");
    args->Flag("--follow", &follow_, "print what the job prints, until it ends");
    args->Flag("--wait", &wait_, "wait until the job ends; the exit code tells how");
    args->Text("--prefix", &prefix_, "WHEN",
               "with --follow, \"[rank N]\" before each line: auto, always, never; default: auto");
    args->Flag("--propagate-exit-code", &propagate_, "with --wait or --follow, exit with the job's own code");
    args->Text("--idempotency-key", &key_, "KEY", "16 to 64 characters: the same key again gives the first job again");
  }

  int Run(Session* session) override {
    int code = Submit(session);
    bool ours = code != kExitOk && !submitted_;
    return propagate_ && ours ? static_cast<int>(kExitPropagateFailed) : code;
  }

 private:
  struct FlagValue {
    const char* flag;
    std::optional<std::string> value;
    const char* kind;
    const char* help;
  };

  int Submit(Session* session) {
    if (int code = CheckUsage(*session); code != kExitOk) return code;
    std::optional<InterruptGuard> guard;
    if (follow_ || wait_) guard.emplace();
    input_.command = session->rest();
    for (const FlagValue& flag : flags_)
      if (flag.value) input_.flags.emplace_back(flag.flag, *flag.value);
    Result<JobReading> reading = ReadJob(input_, session->io(), CurrentFolder());
    if (!reading.ok())
      return session->Fail(reading.status(), reading.status().code() == Code::kInvalidArgument
                                                 ? "gtctl submit --help, and configs/jobs/ for examples"
                                                 : "");
    Result<Client*> client = session->client();
    if (!client.ok()) return session->Fail(client.status());
    if (guard) guard->Attach(*client);
    SubmitResponse response;
    if (Status status = Send(session, *client, reading->spec, &response); !status.ok()) return session->Fail(status);
    return Answered(session, *client, *reading, response.jobs(0));
  }

  int CheckUsage(const Session& session) {
    if (files_.size() == 1 && file_) return session.Usage("the job file is given twice");
    input_.file = file_ ? *file_ : files_.empty() ? "" : files_[0];
    if (input_.file.empty() && session.rest().empty() && input_.set.empty())
      return session.Usage("nothing to submit: name a job file, or a command after --",
                           "gtctl submit job.yaml, or gtctl submit -- python train.py");
    if (!input_.file.empty() && !session.rest().empty())
      return session.Usage("a job file and a command after -- are given; a job is one of them");
    if ((follow_ || wait_) && dry_run_) return session.Usage("--dry-run makes no job that could be waited for");
    if (follow_ && session.json())
      return session.Usage("--follow prints the job's own output, which is not JSON",
                           "gtctl submit -q, then gtctl logs ID -f -o jsonl");
    if (prefix_ && *prefix_ != "auto" && *prefix_ != "always" && *prefix_ != "never")
      return session.Usage("--prefix is auto, always or never");
    if (key_ && (key_->size() < kMinKey || key_->size() > kMaxKey || !IsPrintable(*key_)))
      return session.Usage("--idempotency-key takes 16 to 64 printable characters",
                           "for example a UUID: --idempotency-key \"$(uuidgen)\"");
    return kExitOk;
  }

  // One key for all tries: an answer that got lost does not make a second job.
  Status Send(Session* session, Client* client, const JobSpec& spec, SubmitResponse* response) {
    std::string key;
    if (key_)
      key = *key_;
    else {
      GT_ASSIGN_OR_RETURN(key, RandomKey());
    }
    SubmitRequest request;
    auto* one = request.add_jobs();
    one->set_client_key(key);
    *one->mutable_spec() = spec;
    request.set_owner(session->UserName());
    request.set_dry_run(dry_run_);
    GT_RETURN_IF_ERROR(client->Submit(request, response));
    if (response->jobs_size() != 1)
      return Status(Code::kInternal, "the coordinator answered for " + std::to_string(response->jobs_size()) + " jobs");
    std::string problems;
    for (const std::string& problem : response->jobs(0).problems())
      problems += (problems.empty() ? "" : "\n") + Printable(problem);
    return problems.empty() ? OkStatus() : Status(Code::kInvalidArgument, problems);
  }

  int Answered(Session* session, Client* client, const JobReading& reading, const SubmitResponse::One& answer) {
    for (const std::string& warning : answer.warnings()) session->Note("warning: " + Printable(warning));
    if (dry_run_) return ShowDryRun(session, reading, answer);
    submitted_ = true;
    std::string id = std::to_string(answer.job_id());
    if (session->json() && !wait_)
      session->Print({{"schema_version", kSchemaVersion}, {"job", AnswerJson(answer)}});
    else if (session->quiet() || session->output() == Output::kName)
      session->Out(id + "\n");
    else if (!session->json() && follow_)  // standard output is the job's
      session->Note((answer.duplicate() ? "known already: job " : "submitted job ") + id);
    else if (!session->json())
      session->Out((answer.duplicate() ? "known already: job " : "submitted job ") + id + "\n");
    TaskSelector job{JobId{answer.job_id()}, std::nullopt};
    if (follow_ && !reading.spec.has_array()) return Follow(session, client, reading.spec, job);
    if (follow_)
      session->Note("an array's output is read task by task: gtctl logs " + id + "_0 -f; waiting for its end");
    if (follow_ || wait_) return Wait(session, client, answer, job);
    session->Progress("next: gtctl logs " + id + " -f, gtctl status " + id);
    return kExitOk;
  }

  static Json AnswerJson(const SubmitResponse::One& answer) {
    Json warnings = Json::array();
    for (const std::string& warning : answer.warnings()) warnings.push_back(Printable(warning));
    return {{"id", answer.job_id() == 0 ? Json() : Json(std::to_string(answer.job_id()))},
            {"duplicate", answer.duplicate()},
            {"warnings", warnings}};
  }

  static int ShowDryRun(Session* session, const JobReading& reading, const SubmitResponse::One& answer) {
    if (session->json()) {
      Json job = AnswerJson(answer);
      job["spec"] = ToJson(reading.spec, {.nulls = true, .seconds = true});
      session->Print({{"schema_version", kSchemaVersion}, {"dry_run", true}, {"job", job}});
      return kExitOk;
    }
    if (!session->quiet()) session->Out(ToYaml(reading.spec, reading.origins));
    session->Note("the job is good; nothing was submitted");
    return kExitOk;
  }

  int Follow(Session* session, Client* client, const JobSpec& spec, const TaskSelector& job) {
    LogSelection selection;
    selection.job = job;
    selection.follow = true;
    LogStyle style;
    style.prefix = WantsPrefix(prefix_.value_or("auto"), ShapeOf(spec).world_size, {});
    style.whole_lines = ShapeOf(spec).world_size > 1;
    return FollowJob(session, client, selection, style, propagate_);
  }

  int Wait(Session* session, Client* client, const SubmitResponse::One& answer, const TaskSelector& job) {
    std::string last;
    Result<JobSummary> end = WatchJob(session, client, job, kNever, [&](const JobSummary& summary) {
      std::string line = "job " + ToString(job) + " " + ShownState(summary);
      if (line != last && !IsFinalJob(summary)) session->Progress(line);
      last = line;
      return true;
    });
    if (client->interrupted()) return Detach(*session, {job});
    if (!end.ok())
      return propagate_                             ? session->Fail(end.status()),
             static_cast<int>(kExitPropagateFailed) : session->Fail(end.status());
    if (session->json()) {
      Json all = JobJson(*end, WallMillis());
      all.update(AnswerJson(answer));
      session->Print({{"schema_version", kSchemaVersion}, {"job", all}});
    }
    TellEnd(*session, *end);
    return ExitCodeOf(*end, propagate_);
  }

  JobInput input_;
  std::vector<std::string> files_;
  std::optional<std::string> file_, prefix_, key_;
  std::vector<FlagValue> flags_ = {
      {"--name", {}, "NAME", "what people call it"},
      {"--nodes", {}, "N", "machines that start together"},
      {"--gpus-per-node", {}, "N", "GPUs of each; default: 0"},
      {"--processes-per-node", {}, "N", "ranks of each; default: its GPUs, or 1"},
      {"--cpus", {}, "N", "CPUs of each process; default: 1"},
      {"--memory", {}, "SIZE", "memory of each node, for example 2GiB; default: no request, no limit"},
      {"--priority", {}, "0..100", "higher runs sooner; default: 50"},
      {"--time", {}, "DURATION", "longest run of one attempt, for example 12h"},
      {"--array", {}, "RANGE", "one task an index, for example 0-15"},
      {"--workdir", {}, "FOLDER", "where the command runs; default: a scratch folder of the worker"},
      {"--retry-user", {}, "N", "tries again after failures of the program; default: 0"},
      {"--retry-infra", {}, "N", "tries again after failures of machines; default: 10"}};
  bool dry_run_ = false, follow_ = false, wait_ = false, propagate_ = false, submitted_ = false;
};

}  // namespace

std::unique_ptr<CommandBody> MakeSubmit() { return std::make_unique<SubmitCommand>(); }

}  // namespace gt
