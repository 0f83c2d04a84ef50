#include "coordinator/service/housekeeper.h"

#include <pthread.h>

#include <chrono>
#include <unordered_set>

#include "common/os/clock.h"

namespace gt {
namespace {
constexpr Millis kEvery = 10 * kMinute;
// A transaction of so many rows takes some 20 ms, for which commits wait; then it is their turn.
constexpr uint32_t kRowsATime = 2000;
constexpr Millis kBetween = 200;
}

void Housekeeper::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Housekeeper::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Housekeeper::Run() {
  pthread_setname_np(pthread_self(), "gt-housekeeper");
  while (Pause(kEvery)) {
    if (Status expired = ExpireHistory(); !expired.ok()) log_->Warn("old jobs could not be deleted", {{"error", expired.message()}});
    if (Status expired = ExpireLogs(); !expired.ok()) log_->Warn("old output could not be deleted", {{"error", expired.message()}});
    disk_->Reserve();
  }
}

bool Housekeeper::Pause(Millis time) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, std::chrono::milliseconds(time), [this] { return stopping_; });
}

Status Housekeeper::ExpireHistory() {
  if (retention_.history == 0) return OkStatus();
  bool more = true;
  while (more && Pause(kBetween)) {
    GT_ASSIGN_OR_RETURN(more, store_->Expire(ReadClock().wall - retention_.history, kRowsATime));
  }
  return OkStatus();
}

// Output of live attempts stays, however old.
Status Housekeeper::ExpireLogs() {
  if (retention_.logs == 0) return OkStatus();
  auto live = std::make_shared<std::unordered_set<Uid>>();
  auto now = std::make_shared<Millis>();
  GT_RETURN_IF_ERROR(loop_->QueryAndWait([live, now](const LoopView& view) {
    *now = view.now.wall;
    for (const auto& [uid, attempt] : view.state.attempts) live->insert(uid);
  }));
  return logs_->Expire(*now - retention_.logs, [live](const Uid& uid) { return live->contains(uid); });
}

}  // namespace gt
