#include "worker/launcher/output.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

namespace gt::launcher {

namespace {
constexpr size_t kTail = 4096;
constexpr size_t kPauseAt = 32u << 20, kResumeAt = 8u << 20;
constexpr Millis kCheckEvery = 5, kStalledAfter = 2 * kSecond;
constexpr int kReadsPerTurn = 4;  // one chatty rank must not starve the others
constexpr int64_t kMuch = 1 << 20;
constexpr int kWidePipe = 1 << 20;
constexpr Millis kRest = 2;
}  // namespace

OutputGate::Verdict OutputGate::Ask() {
  if (disk_->queued_bytes() < kPauseAt) return Verdict::kRead;
  if (disk_->batches() != seen_batches_ || moved_ == 0) {
    seen_batches_ = disk_->batches();
    moved_ = poller_->now().mono;
  }
  return poller_->now().mono - moved_ < kStalledAfter ? Verdict::kPause : Verdict::kDiscard;
}

void OutputGate::Pause(const void* who, std::function<void()> resume) {
  paused_[who] = std::move(resume);
  if (timer_ == 0) timer_ = poller_->After(kCheckEvery, [this] { Check(); });
}

void OutputGate::Forget(const void* who) { paused_.erase(who); }

void OutputGate::Check() {
  timer_ = 0;
  if (disk_->queued_bytes() > kResumeAt && Ask() != Verdict::kDiscard) {
    timer_ = poller_->After(kCheckEvery, [this] { Check(); });
    return;
  }
  auto resumed = std::move(paused_);
  paused_.clear();
  for (auto& [who, resume] : resumed) resume();
}

Status RankStream::Open() {
  int pair[2];
  if (pipe2(pair, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  read_.Reset(pair[0]);
  write_.Reset(pair[1]);
  fcntl(read_.get(), F_SETFL, O_NONBLOCK);  // our end only: a rank expects blocking writes
  Watch();
  return OkStatus();
}

void RankStream::Watch() {
  handle_ = gate_->poller()->Add(read_.get(), EPOLLIN, [this](uint32_t) { OnReadable(); });
}

void RankStream::OnReadable() {
  for (int i = 0; i < kReadsPerTurn; ++i) {
    OutputGate::Verdict verdict = gate_->Ask();
    if (verdict == OutputGate::Verdict::kPause) {
      gate_->poller()->Remove(&handle_);  // not just masked: a hang-up cannot be masked
      gate_->Pause(this, [this] { Watch(); });
      return;
    }
    if (ReadOnce(verdict == OutputGate::Verdict::kDiscard)) continue;
    if (read_.valid()) Rest();
    return;
  }
}

// The kernel grants each user so many wide pipes.
void RankStream::Widen() {
  asked_ = true;
  wide_ = fcntl(read_.get(), F_SETPIPE_SZ, kWidePipe) >= kWidePipe;
}

// The pipe is empty for now. Never while it is narrow: the rank would wait for us.
void RankStream::Rest() {
  if (!asked_ && read_bytes_ >= kMuch) Widen();
  if (!wide_) return;
  gate_->poller()->Remove(&handle_);
  rest_timer_ = gate_->poller()->After(kRest, [this] {
    rest_timer_ = 0;
    Watch();
  });
}

bool RankStream::ReadOnce(bool discard) {
  auto& buffer = gate_->buffer();
  ssize_t got = read(read_.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return errno == EINTR;
  if (got <= 0) {
    Close();
    return false;
  }
  std::string_view bytes(buffer.data(), static_cast<size_t>(got));
  read_bytes_ += got;
  tail_.append(bytes.substr(bytes.size() - std::min(bytes.size(), kTail)));
  if (tail_.size() > 2 * kTail) tail_.erase(0, tail_.size() - kTail);
  if (discard) {
    discarded_ += got;
    unnoticed_ += got;
  } else {
    Keep(bytes);
  }
  return static_cast<size_t>(got) == buffer.size();
}

void RankStream::Keep(std::string_view bytes) {
  if (unnoticed_ > 0) {
    gate_->disk()->Output(uid_, rank_, stream_, "\n[gridtrain: " + std::to_string(unnoticed_) +
                                                    " bytes of output were not kept: the disk did not answer]\n");
    unnoticed_ = 0;
  }
  gate_->disk()->Output(uid_, rank_, stream_, std::string(bytes));
}

void RankStream::Drain() {
  write_.Reset();
  while (read_.valid() && ReadOnce(false)) {
  }
  if (tail_.size() > kTail) tail_.erase(0, tail_.size() - kTail);
  Close();
}

void RankStream::Close() {
  gate_->Forget(this);
  gate_->poller()->Remove(&handle_);
  gate_->poller()->Cancel(&rest_timer_);
  read_.Reset();
  write_.Reset();
}

}  // namespace gt::launcher
