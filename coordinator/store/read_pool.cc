#include "coordinator/store/read_pool.h"

#include <chrono>

namespace gt {

Result<std::unique_ptr<sqlite::Database>> ReadPool::Borrow() {
  std::unique_lock lock(mutex_);
  bool got = returned_.wait_for(lock, std::chrono::seconds(10), [&] { return !idle_.empty() || unopened_ > 0; });
  if (!got) return Status(Code::kUnavailable, "every read connection to the database is busy");
  if (!idle_.empty()) {
    std::unique_ptr<sqlite::Database> db = std::move(idle_.back());
    idle_.pop_back();
    return db;
  }
  unopened_--;
  lock.unlock();
  Result<sqlite::Database> opened = sqlite::Database::Open(path_, SQLITE_OPEN_READONLY, vfs_);
  if (!opened.ok()) {
    lock.lock();
    unopened_++;
    return opened.status();
  }
  sqlite3_busy_timeout(opened->get(), 5000);
  return std::make_unique<sqlite::Database>(std::move(*opened));
}

void ReadPool::Return(std::unique_ptr<sqlite::Database> db, bool clean) {
  if (!clean) db.reset();
  {
    std::lock_guard lock(mutex_);
    if (db != nullptr) idle_.push_back(std::move(db));
    else unopened_++;
  }
  returned_.notify_one();
}

}  // namespace gt
