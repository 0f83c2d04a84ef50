#include "coordinator/service/log_stream.h"

namespace gt {
namespace {

constexpr size_t kReadBytes = 1u << 20;  // of which a merge reads twice as much
constexpr uint64_t kMaxTailLines = 100'000;
constexpr Millis kWaitForRest = 5 * kSecond;  // after the end, for output that is still on its way

// The final size of every selected stream was reached.
bool Reached(const Attempt& attempt, const LogSelection& selection, const LogCursors& cursors) {
  auto at = [&](LogStream from) {
    auto it = cursors.find(from);
    return it == cursors.end() ? uint64_t{0} : it->second;
  };
  for (const Member& member : attempt.members) {
    wire::ExitRecord record = ParseExit(member.exit);
    for (const wire::RankExit& rank : record.ranks()) {
      LogStream out{rank.rank(), kStdout}, err{rank.rank(), kStderr};
      if (selection.Has(out) && at(out) < rank.stdout_bytes()) return false;
      if (selection.Has(err) && at(err) < rank.stderr_bytes()) return false;
    }
  }
  return true;
}

// What ranks printed and their nodes could not keep; "" when there is nothing to say.
std::string Losses(const Attempt& attempt, const LogSelection& selection) {
  uint64_t bytes = 0, ranks = 0, last = 0;
  for (const Member& member : attempt.members) {
    wire::ExitRecord record = ParseExit(member.exit);
    for (const wire::RankExit& rank : record.ranks()) {
      bool wanted = selection.Has({rank.rank(), kStdout}) || selection.Has({rank.rank(), kStderr});
      if (!wanted || rank.lost_bytes() == 0) continue;
      bytes += rank.lost_bytes();
      ++ranks;
      last = rank.rank();
    }
  }
  if (ranks == 0) return "";
  std::string who = ranks == 1 ? "rank " + std::to_string(last) : std::to_string(ranks) + " ranks";
  return std::to_string(bytes) + " bytes that " + who + " printed were not kept: no space on the node, or a limit was reached";
}

}  // namespace

grpc::ServerWriteReactor<wire::LogChunk>* LogReader::Begin(const JobsDeps& deps, JobReads* reads, const wire::ReadLogsRequest& request) {
  return Start(std::shared_ptr<LogReader>(new LogReader(deps, reads, request)));
}

LogReader::~LogReader() {
  if (follower_ != 0) deps_.logs->Unfollow(follower_);
}

Status LogReader::Begin() {
  std::optional<uint32_t> index;
  if (request_.has_task_index()) index = request_.task_index();
  JobId job{request_.job_id()};
  GT_ASSIGN_OR_RETURN(Job row, reads_->Row(job, index));
  if (row.array && !index && row.range.size() > 1)
    return {Code::kInvalidArgument, "job " + std::to_string(job.value) + " is an array; say which task, like " + std::to_string(job.value) + "_" + std::to_string(row.range.first)};
  task_ = {job, index.value_or(row.range.first)};
  ranks_per_node_ = static_cast<uint32_t>(std::max(row.ranks_per_node, 1));
  selection_.ranks.assign(request_.ranks().begin(), request_.ranks().end());
  all_ = request_.all_attempts() || (request_.follow() && request_.attempt() == 0);
  GT_RETURN_IF_ERROR(Subscribe(job));
  GT_ASSIGN_OR_RETURN(names_, reads_->Names());
  Result<Attempt> first = FirstAttempt();
  if (first.ok()) return Enter(*std::move(first));
  bool none_yet = first.status().code() == Code::kNotFound && request_.attempt() == 0;
  return none_yet ? OkStatus() : first.status();
}

// Where a broken-off reader was, else what was asked for.
Result<Attempt> LogReader::FirstAttempt() {
  if (request_.cursors_size() > 0) {
    GT_ASSIGN_OR_RETURN(std::vector<Attempt> attempts, deps_.store->GetAttempts(task_));
    for (Attempt& attempt : attempts)
      for (const wire::LogCursor& cursor : request_.cursors())
        if (FromWire(cursor.uid()) == attempt.uid) return std::move(attempt);
  }
  Result<Attempt> found = deps_.store->GetAttemptByNumber(task_, request_.all_attempts() ? 1 : request_.attempt());
  if (!found.ok() && found.status().code() == Code::kNotFound && request_.attempt() != 0)
    return Status(Code::kNotFound, "there is no attempt " + std::to_string(request_.attempt()) + " of it");
  return found;
}

Status LogReader::Enter(Attempt attempt) {
  bool first = !attempt_.has_value();
  attempt_ = std::move(attempt);
  ended_seen_ = 0;
  gave_up_ = loss_told_ = false;
  cursors_.clear();
  if (follower_ != 0) deps_.logs->Unfollow(follower_);
  std::weak_ptr<PumpStream<wire::LogChunk>> weak = weak_from_this();
  follower_ = deps_.logs->Follow(attempt_->uid, [weak] {
    if (auto stream = weak.lock()) stream->Poke();
  });
  if (!first) notice_ = "attempt " + std::to_string(attempt_->number);
  for (const wire::LogCursor& cursor : request_.cursors())
    if (FromWire(cursor.uid()) == attempt_->uid) cursors_[{cursor.rank(), cursor.stream()}] = cursor.offset();
  if (first && cursors_.empty() && request_.has_tail_lines()) {
    GT_ASSIGN_OR_RETURN(cursors_, deps_.logs->Tail(attempt_->uid, selection_, std::min<uint64_t>(request_.tail_lines(), kMaxTailLines)));
  }
  return OkStatus();
}

Result<bool> LogReader::NextAttempt() {
  uint32_t wanted = attempt_ ? attempt_->number + 1 : 1;
  Result<Attempt> next = deps_.store->GetAttemptByNumber(task_, wanted);
  if (!next.ok()) return next.status().code() == Code::kNotFound ? Result<bool>(false) : Result<bool>(next.status());
  GT_RETURN_IF_ERROR(Enter(*std::move(next)));
  return true;
}

Result<bool> LogReader::Complete() {
  GT_ASSIGN_OR_RETURN(attempt_, deps_.store->GetAttemptByNumber(task_, attempt_->number));
  if (attempt_->phase != AttemptPhase::kEnded) return false;
  if (gave_up_) return true;
  if (Reached(*attempt_, selection_, cursors_)) {
    if (!std::exchange(loss_told_, true)) notice_ = Losses(*attempt_, selection_);
    return true;
  }
  Millis now = deps_.clock().mono;
  if (ended_seen_ == 0) ended_seen_ = now;
  if (now - ended_seen_ >= kWaitForRest) {
    notice_ = "the rest of the output has not arrived";
    return gave_up_ = true;
  }
  PokeLater(ended_seen_ + kWaitForRest - now);
  return false;
}

void LogReader::PokeLater(Millis after) {
  std::weak_ptr<PumpStream<wire::LogChunk>> weak = weak_from_this();
  alarm_ = std::make_unique<grpc::Alarm>();
  alarm_->Set(std::chrono::system_clock::now() + std::chrono::milliseconds(after), [weak](bool fired) {
    if (auto stream = fired ? weak.lock() : nullptr) stream->Poke();
  });
}

// Everything that is on disk was sent: whether there is more to come.
Result<Pumped> LogReader::AtTheEnd(wire::LogChunk* message) {
  // Asked first: what ends a task is on disk with its last attempt.
  GT_ASSIGN_OR_RETURN(Job row, reads_->Row(task_.job, task_.index));
  bool over = reads_->IsFinal(row, task_.index);
  bool complete = true;
  if (attempt_) {
    GT_ASSIGN_OR_RETURN(complete, Complete());
  }
  if (!notice_.empty()) {
    message->set_notice(std::exchange(notice_, ""));
    return Pumped::kMessage;
  }
  bool ended = attempt_ && attempt_->phase == AttemptPhase::kEnded;
  if (!complete && (request_.follow() || ended)) return Pumped::kNothingYet;
  if (all_) {
    GT_ASSIGN_OR_RETURN(bool more, NextAttempt());
    if (more) return Next(message);
  }
  bool wait = request_.follow() && !over && (all_ || !attempt_);
  if (wait) return Pumped::kNothingYet;
  message->set_end(true);
  end_sent_ = true;
  return Pumped::kMessage;
}

Result<Pumped> LogReader::Next(wire::LogChunk* message) {
  if (end_sent_) return Pumped::kEnd;
  if (!begun_) GT_RETURN_IF_ERROR(Begin());
  begun_ = true;
  if (!notice_.empty()) {
    message->set_notice(std::exchange(notice_, ""));
    if (attempt_) ToWire(attempt_->uid, message->mutable_uid()), message->set_attempt(attempt_->number);
    return Pumped::kMessage;
  }
  if (pieces_.empty() && attempt_) {
    GT_ASSIGN_OR_RETURN(std::vector<LogPiece> pieces, deps_.logs->ReadMerged(attempt_->uid, selection_, &cursors_, kReadBytes));
    pieces_.assign(std::make_move_iterator(pieces.begin()), std::make_move_iterator(pieces.end()));
  }
  if (pieces_.empty()) return AtTheEnd(message);
  FillChunk(std::move(pieces_.front()), message);
  pieces_.pop_front();
  return Pumped::kMessage;
}

void LogReader::FillChunk(LogPiece piece, wire::LogChunk* out) const {
  ToWire(attempt_->uid, out->mutable_uid());
  out->set_attempt(attempt_->number);
  out->set_rank(piece.from.rank);
  out->set_stream(piece.from.stream);
  out->set_offset(piece.offset);
  out->set_time_ms(piece.time_wall);
  if (!piece.notice.empty()) out->set_notice(piece.notice);
  out->set_data(std::move(piece.data));
  size_t member = piece.from.rank / ranks_per_node_;
  if (member >= attempt_->members.size()) return;
  auto name = names_.find(attempt_->members[member].node);
  if (name != names_.end()) out->set_node(name->second);
}

}  // namespace gt
