#include "coordinator/store/checkpointer.h"

#include <chrono>

namespace gt {

Checkpointer::~Checkpointer() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Checkpointer::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void Checkpointer::OnWalSize(int64_t bytes) {
  wal_bytes_ = bytes;
  if (bytes < wake_bytes_) return;
  std::lock_guard lock(mutex_);
  if (due_) return;
  due_ = true;
  wake_.notify_one();
}

void Checkpointer::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return due_ || stop_; });
    if (stop_) return;
    lock.unlock();
    // A failure here loses nothing: the WAL only grows on. If it is for want of space, commits will say so.
    bool done = Run(false).ok();
    if (wal_bytes_ >= limit_bytes_) done = Run(true).ok() && done;
    lock.lock();
    due_ = false;
    if (!done) wake_.wait_for(lock, std::chrono::seconds(1), [&] { return stop_; });
  }
}

Status Checkpointer::Run(bool reset) {
  std::lock_guard running(running_);
  if (db_ == nullptr) {
    GT_ASSIGN_OR_RETURN(sqlite::Database db, sqlite::Database::Open(path_, SQLITE_OPEN_READWRITE, vfs_));
    GT_RETURN_IF_ERROR(db.Exec("PRAGMA wal_autocheckpoint = 0"));
    GT_RETURN_IF_ERROR(db.Exec("PRAGMA synchronous = FULL"));
    // A reader that holds an old snapshot must not keep the writer waiting for long: the next round tries again.
    sqlite3_busy_timeout(db.get(), 100);
    db_ = std::make_unique<sqlite::Database>(std::move(db));
  }
  std::unique_lock<std::mutex> writing(*writing_, std::defer_lock);
  if (reset) writing.lock();
  int mode = reset ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
  int rc = sqlite3_wal_checkpoint_v2(db_->get(), nullptr, mode, nullptr, nullptr);
  if (reset && rc == SQLITE_OK) wal_bytes_ = 0;
  if (rc != SQLITE_OK) return db_->Error(rc, "checkpoint of the WAL");
  return OkStatus();
}

}  // namespace gt
