#include "coordinator/service/housekeeper.h"

#include <pthread.h>

#include <chrono>
#include <unordered_set>

namespace gt {
namespace {
constexpr auto kEvery = std::chrono::minutes(10);
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
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kEvery, [this] { return stopping_; })) {
    lock.unlock();
    if (Status expired = ExpireLogs(); !expired.ok()) log_->Warn("old output could not be deleted", {{"error", expired.message()}});
    disk_->Reserve();
    lock.lock();
  }
}

// Output of live attempts stays, however old.
Status Housekeeper::ExpireLogs() {
  if (retention_ == 0) return OkStatus();
  auto live = std::make_shared<std::unordered_set<Uid>>();
  auto now = std::make_shared<Millis>();
  GT_RETURN_IF_ERROR(loop_->QueryAndWait([live, now](const LoopView& view) {
    *now = view.now.wall;
    for (const auto& [uid, attempt] : view.state.attempts) live->insert(uid);
  }));
  return logs_->Expire(*now - retention_, [live](const Uid& uid) { return live->contains(uid); });
}

}  // namespace gt
