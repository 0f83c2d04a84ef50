#include "worker/launcher/attempt.h"

#include <signal.h>
#include <string.h>

#include "common/base/units.h"
#include "common/os/random.h"

namespace gt::launcher {

namespace {
constexpr Millis kLeftoverPoll = 20, kPollMost = 100, kComplainAfter = 30 * kSecond;
}

const StateTable<Attempt::Step, 8> Attempt::kSteps = {
    {Step::kJournal, {Step::kWaiting, Step::kLaunching, Step::kVerifying, Step::kRecording}},
    {Step::kWaiting, {Step::kLaunching, Step::kRecording}},
    {Step::kLaunching, {Step::kRunning, Step::kStopping, Step::kVerifying, Step::kRecording}},
    {Step::kRunning, {Step::kStopping, Step::kVerifying}},
    {Step::kStopping, {Step::kVerifying}},
    {Step::kVerifying, {Step::kRecording}},
    {Step::kRecording, {Step::kEnded}},
    {Step::kEnded, {}},
};

Attempt::Attempt(AttemptContext* context, Start start)
    : context_(context), start_(std::move(start)), generation_(start_.generation), ranks_(start_.ranks.size()) {
  auto key = RandomKey();
  if (key.ok()) key_ = *key;
  for (uint32_t i = 0; i < ranks_.size(); ++i) ranks_[i].exit.rank = start_.first_rank + i;
  if (start_.stop_after > 0) OnRearm(start_.stop_after);
  WriteStart();
}

Attempt::Attempt(AttemptContext* context, const JournalEntry& entry, const std::vector<SpoolWriter::Sizes>& sizes)
    : context_(context), generation_(entry.start.generation), ranks_(entry.start.ranks), recovered_(true) {
  start_.uid = entry.start.uid;
  if (entry.exit) {
    record_ = *entry.exit;
    step_ = Step::kEnded;
    return;
  }
  for (uint32_t i = 0; i < ranks_.size(); ++i) {
    RankExit& exit = ranks_[i].exit;
    exit.rank = entry.start.first_rank + i;
    exit.stdout_bytes = i < sizes.size() ? sizes[i].stdout_bytes : -1;
    exit.stderr_bytes = i < sizes.size() ? sizes[i].stderr_bytes : -1;
  }
  if (entry.start.boot_id != context_->setup->boot_id) {
    SetWhy(EndWhy::kNodeRebooted, StopWhy::kNone, "exit unknown (the node was rebooted)");
    Finish();
    return;
  }
  SetWhy(EndWhy::kLauncherLost, StopWhy::kNone, "exit unknown (launcher restarted)");
  gang_ = context_->containment->Recover(start_.uid, entry.keeper);
  Verify();
}

Attempt::~Attempt() {
  CancelTimers();
  context_->poller->Cancel(&poll_timer_);
  if (!key_.empty()) context_->rank_socket->Unregister(key_);
}

void Attempt::WriteStart() {
  Started started{start_.uid, context_->setup->boot_id, generation_, start_.first_rank,
                  static_cast<uint32_t>(ranks_.size()), context_->poller->now().wall};
  std::vector<Disk::SpecFile> files;
  if (!start_.spec_json.empty()) {
    const JobUser& user = context_->setup->job_user;
    files.push_back({context_->setup->rank_dir.spec(start_.uid), start_.spec_json, user.uid, user.gid});
  }
  context_->disk->Start(std::move(started), std::move(files), [this](Status status) { OnJournaled(status); });
}

void Attempt::OnJournaled(const Status& status) {
  Status check = status.ok() ? CheckStart(start_) : status;
  if (check.ok()) check = context_->setup->job_user_status;
  if (check.ok() && key_.empty()) check = Status(Code::kInternal, "no randomness for the attempt's key");
  if (!check.ok()) SetWhy(EndWhy::kLaunchFailed, StopWhy::kNone, check.message());
  if (why_set_) return Finish();  // also when it was stopped meanwhile
  context_->rank_socket->Register(key_, this);
  bool needs_go = !start_.contract && !start_.local_endpoint && !endpoint_known_;
  if (!needs_go) return Launch();
  if (start_.hold_port) {
    auto held = HoldPort();
    if (!held.ok()) {
      SetWhy(EndWhy::kLaunchFailed, StopWhy::kNone, held.status().message());
      return Finish();
    }
    held_ = std::move(held).value();
  }
  Move(Step::kWaiting);
  Publish();
}

void Attempt::OnGo(const Go& go) {
  if (go.generation < generation_ || step_ >= Step::kVerifying) return;
  bool repeated = endpoint_known_ && go.generation == generation_;
  generation_ = go.generation;
  endpoint_ = {go.master_addr, go.master_port};
  endpoint_known_ = true;
  if (go.world_size != 0) {
    start_.first_rank = go.first_rank;
    start_.world_size = go.world_size;
  }
  if (repeated || step_ == Step::kJournal) return;
  if (step_ == Step::kWaiting) return Launch();
  for (uint32_t i = 0; i < ranks_.size(); ++i) SendRendezvous(i);
  Publish();
}

void Attempt::Launch() {
  Move(Step::kLaunching);
  if (start_.local_endpoint && !start_.contract) {
    auto held = HoldPort();
    if (!held.ok()) {
      SetWhy(EndWhy::kLaunchFailed, StopWhy::kNone, held.status().message());
      return Finish();
    }
    held_ = std::move(held).value();
    endpoint_ = {"127.0.0.1", held_.port};
    endpoint_known_ = true;
  }
  plan_ = MakePlan(start_, generation_, endpoint_, key_, *context_->setup);
  std::vector<RankPipes> pipes;
  if (Status status = OpenOutputs(&pipes); !status.ok()) {
    SetWhy(EndWhy::kLaunchFailed, StopWhy::kNone, status.message());
    return Finish();
  }
  if (held_.socket.valid()) OfferPort(held_);  // a keeper's word that rank 0 runs may come later than its bind
  gang_ = context_->containment->Make(&plan_, this);
  gang_->Start(pipes);
  for (Rank& rank : ranks_) {
    if (rank.out != nullptr) rank.out->CloseWriteEnd();
    if (rank.err != nullptr) rank.err->CloseWriteEnd();
  }
}

Status Attempt::OpenOutputs(std::vector<RankPipes>* pipes) {
  for (Rank& rank : ranks_) {
    rank.out = std::make_unique<RankStream>(context_->gate, start_.uid, rank.exit.rank, Stream::kStdout);
    rank.err = std::make_unique<RankStream>(context_->gate, start_.uid, rank.exit.rank, Stream::kStderr);
    GT_RETURN_IF_ERROR(rank.out->Open());
    GT_RETURN_IF_ERROR(rank.err->Open());
    pipes->push_back({rank.out->write_fd(), rank.err->write_fd()});
  }
  return OkStatus();
}

void Attempt::OnRankStarted(uint32_t local_rank, pid_t pid) {
  Rank& rank = ranks_[local_rank];
  rank.started = true;
  rank.exit.pid = pid;
  rank.exit.started = context_->poller->now().wall;
  ++started_;
  if (local_rank == 0) held_.socket.Reset();  // rank 0 has been exec'd and will bind the port itself
}

void Attempt::OnAllStarted() {
  if (step_ == Step::kStopping && stopped_early_) gang_->Signal(SIGTERM);  // some had not been started when it was told to
  if (step_ != Step::kLaunching) return;
  Move(Step::kRunning);
  if (start_.time_limit > 0) {
    limit_timer_ = context_->poller->After(start_.time_limit, [this] {
      RequestStop(start_.grace, EndWhy::kTimeLimit, StopWhy::kTimeLimit);
    });
  }
  Log("running");
  Publish();
  if (exited_ == started_) AllExited();
}

void Attempt::OnLaunchFailed(uint32_t local_rank, const Status& why) {
  if (step_ >= Step::kVerifying) return;
  RankExit& exit = ranks_[local_rank].exit;
  std::string who = ranks_.size() > 1 ? "rank " + std::to_string(exit.rank) + ": " : "";
  if (why.code() == Code::kInvalidArgument && !why_set_) {  // as a shell would answer for it
    exit.code = kExitCannotRun;
    exit.message = why.message();
    record_.first_failed = exit.rank;
    record_.first_failure = context_->poller->now().wall;
    SetWhy(EndWhy::kRankFailed, StopWhy::kNone, who + why.message());
  }
  SetWhy(EndWhy::kLaunchFailed, StopWhy::kNone, who + why.message());
  Verify();
}

void Attempt::OnRankExited(uint32_t local_rank, const ExitStatus& status, int64_t peak_resident) {
  Rank& rank = ranks_[local_rank];
  rank.exited = true;
  rank.exit.code = status.code;
  rank.exit.signal = status.signal;
  rank.exit.core = status.core;
  rank.exit.ended = context_->poller->now().wall;
  rank.peak = peak_resident;
  ++exited_;
  if (status.code != 0 && (step_ == Step::kRunning || step_ == Step::kLaunching)) OnFailure(local_rank);
  if (exited_ == started_ && (step_ == Step::kRunning || step_ == Step::kStopping)) AllExited();
}

void Attempt::OnFailure(uint32_t local_rank) {
  const RankExit& exit = ranks_[local_rank].exit;
  record_.first_failed = exit.rank;
  record_.first_failure = context_->poller->now().wall;
  std::string how = exit.signal != 0 ? "was killed by signal " + std::to_string(exit.signal) + " (" + strsignal(exit.signal) +
                                           (exit.core ? ", core dumped)" : ")")
                    : exit.code >= 0 ? "exited with code " + std::to_string(exit.code)
                                     : "ended in an unknown way (the process that watched it was killed)";
  // Nobody saw how it ended: then it is not known to be the program's fault.
  bool seen = exit.signal != 0 || exit.code >= 0;
  SetWhy(seen ? EndWhy::kRankFailed : EndWhy::kLauncherLost, StopWhy::kNone, "rank " + std::to_string(exit.rank) + " " + how);
  stopping_ = StopWhy::kFail;
  if (exited_ < ranks_.size()) BeginStop(start_.fail_grace);
}

void Attempt::RequestStop(Millis grace, EndWhy why, StopWhy stop_why) {
  if (step_ >= Step::kVerifying) return;
  if (!why_set_) stopping_ = stop_why;
  SetWhy(why, stop_why, why == EndWhy::kTimeLimit ? "the time limit of " + FormatDuration(start_.time_limit) + " is over"
                        : why == EndWhy::kStopAfter ? "no contact with the coordinator for longer than stop_after"
                                                    : "stopped on request");
  if (step_ == Step::kJournal) return;  // OnJournaled sees it
  if (step_ == Step::kWaiting) return Finish();
  if (step_ != Step::kStopping && stop_why == StopWhy::kPreempt) {
    OnTell(kAllRanks, "{\"type\":\"preempt\",\"grace_s\":" + std::to_string(grace / kSecond) + "}");
  }
  BeginStop(std::max<Millis>(grace, 0));
}

// SIGTERM once; a second call can only shorten what is left.
void Attempt::BeginStop(Millis grace) {
  bool first = step_ != Step::kStopping;
  stopped_early_ |= step_ == Step::kLaunching;
  if (first) Move(Step::kStopping);
  Millis at = context_->poller->now().mono + grace;
  if (at < kill_at_) {
    kill_at_ = at;
    context_->poller->Cancel(&kill_timer_);
    kill_timer_ = context_->poller->At(at, [this] { Verify(); });
  }
  if (!first) return;
  Log("stopping: " + record_.message);
  Publish();
  gang_->Signal(SIGTERM);
}

void Attempt::AllExited() {
  bool failed = record_.why == EndWhy::kRankFailed || record_.why == EndWhy::kLauncherLost;
  if (step_ == Step::kStopping && !failed) return WaitForLeftovers();
  if (!why_set_) SetWhy(EndWhy::kCompleted, StopWhy::kNone, "");
  Verify();
}

// The ranks have gone in time, but what they started may still be saving: it has the rest of the grace.
void Attempt::WaitForLeftovers() {
  if (gang_->Gone()) return Verify();
  poll_timer_ = context_->poller->After(kLeftoverPoll, [this] {
    if (step_ == Step::kStopping) WaitForLeftovers();
  });
}

void Attempt::Verify() {
  Move(Step::kVerifying);
  CancelTimers();
  verifying_since_ = context_->poller->now().mono;
  if (exited_ == started_ && gang_->Gone()) return Finish();
  gang_->Kill();
  Publish();
  PollGone();
}

void Attempt::PollGone() {
  context_->poller->Cancel(&poll_timer_);
  if (exited_ == started_ && gang_->Gone()) return Finish();
  Millis lasted = context_->poller->now().mono - verifying_since_;
  if (lasted >= kComplainAfter && lasted < kComplainAfter + poll_pause_) Log("still has processes that do not die");
  poll_timer_ = context_->poller->After(poll_pause_, [this] {
    gang_->Kill();
    PollGone();
  });
  poll_pause_ = std::min(poll_pause_ * 2, kPollMost);
}

// Nothing of it lives (any more).
void Attempt::Finish() {
  Move(Step::kRecording);
  CancelTimers();
  held_.socket.Reset();
  if (!key_.empty()) context_->rank_socket->Unregister(key_);
  std::vector<std::string> error_files;
  for (uint32_t i = 0; i < ranks_.size(); ++i) {
    Rank& rank = ranks_[i];
    if (rank.out != nullptr) rank.out->Drain();
    if (rank.err != nullptr) rank.err->Drain();
    bool may_have_one = rank.started && rank.exit.code != 0;
    error_files.push_back(may_have_one ? context_->setup->rank_dir.error_file(start_.uid, i) : "");
  }
  if (!start_.spec_json.empty()) context_->disk->RemoveLater(context_->setup->rank_dir.spec(start_.uid));
  context_->disk->Exit(MakeRecord(), std::move(error_files), recovered_, [this](ExitRecord record) {
    record_ = std::move(record);
    Move(Step::kEnded);
    gang_.reset();
    ranks_.clear();
    start_ = Start{.uid = start_.uid, .job_id = start_.job_id};  // an ended attempt may wait long for its Forget
    plan_ = GangPlan{};
    Log(std::string("ended: ") + Name(record_.why) + (record_.message.empty() ? "" : ": " + record_.message));
    Publish();
  });
}

ExitRecord Attempt::MakeRecord() {
  ExitRecord record = record_;
  record.uid = start_.uid;
  record.generation = generation_;
  record.ended = context_->poller->now().wall;
  if (gang_ != nullptr) {
    Evidence evidence = gang_->evidence();
    record.oom = evidence.oom;
    record.peak_memory = evidence.peak_memory;
  }
  int64_t resident = 0;
  for (Rank& rank : ranks_) {
    resident += rank.peak;
    if (rank.err != nullptr) {
      rank.exit.tail = !rank.err->tail().empty() ? rank.err->tail() : rank.out->tail();
      rank.exit.lost_bytes += rank.out->discarded() + rank.err->discarded();
    }
    if (started_ > 0 || recovered_ || record.why == EndWhy::kRankFailed) record.ranks.push_back(rank.exit);
  }
  if (record.peak_memory == 0) record.peak_memory = resident;
  if (record.oom) record.message += " (out of memory: the limit is " + FormatBytes(start_.memory_limit) + ")";
  return record;
}

void Attempt::OnRearm(Millis remaining) {
  if (start_.stop_after <= 0 || step_ >= Step::kVerifying) return;
  context_->poller->Cancel(&stop_after_timer_);
  stop_after_timer_ = context_->poller->After(std::max<Millis>(remaining, 0), [this] {
    RequestStop(start_.grace, EndWhy::kStopAfter, StopWhy::kStopAfter);
  });
}

void Attempt::SetWhy(EndWhy why, StopWhy stop_why, std::string message) {
  if (why_set_) return;  // the first cause stays
  why_set_ = true;
  record_.why = why;
  record_.stop_why = stop_why;
  record_.message = std::move(message);
}

void Attempt::CancelTimers() {
  for (Poller::Timer* timer : {&kill_timer_, &limit_timer_, &stop_after_timer_, &poll_timer_}) context_->poller->Cancel(timer);
}

void Attempt::Log(const std::string& event) {
  context_->disk->Log("attempt=" + ToHex(start_.uid) + " job=" + std::to_string(start_.job_id.value) + " " + event);
}

State Attempt::state() const {
  State state;
  state.uid = start_.uid;
  state.generation = generation_;
  state.hello_address = hello_.address;
  state.hello_port = hello_.port;
  state.stopping = stopping_;
  switch (step_) {
    case Step::kJournal: case Step::kLaunching: state.phase = Phase::kStarting; break;
    case Step::kWaiting: state.phase = held_.socket.valid() ? Phase::kPrepared : Phase::kStarting; break;
    case Step::kRunning: state.phase = Phase::kRunning; break;
    case Step::kStopping: case Step::kVerifying: case Step::kRecording: state.phase = Phase::kStopping; break;
    case Step::kEnded: state.phase = Phase::kEnded; break;
  }
  if (state.phase == Phase::kPrepared) state.prepared_port = held_.port;
  if (state.phase == Phase::kEnded) state.exit = record_;
  return state;
}

}  // namespace gt::launcher
