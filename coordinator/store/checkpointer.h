// Moves what the WAL holds into the database, on a connection and, if wanted, a thread of its own: inside COMMIT that costs
// up to 200 ms. Internal to this room.
#pragma once
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "coordinator/store/sqlite.h"

namespace gt {

class Checkpointer {
 public:
  // `writing` is held by the writer during each transaction.
  Checkpointer(std::string path, std::string vfs, int64_t wake_bytes, int64_t limit_bytes, std::mutex* writing)
      : path_(std::move(path)), vfs_(std::move(vfs)), wake_bytes_(wake_bytes), limit_bytes_(limit_bytes), writing_(writing) {}
  ~Checkpointer();

  void Start();
  // The writer tells how long the WAL is after each commit. Any thread; never blocks.
  void OnWalSize(int64_t bytes);
  // Once, here and now. Without `reset` it never waits for the writer; with it the next transaction begins at the head of
  // the WAL, and the writer waits for what is left to move.
  Status Run(bool reset);

 private:
  void Loop();

  const std::string path_, vfs_;
  const int64_t wake_bytes_, limit_bytes_;
  std::mutex* const writing_;
  std::mutex running_;                      // one checkpoint at a time
  std::unique_ptr<sqlite::Database> db_;    // guarded by running_
  std::atomic<int64_t> wal_bytes_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool due_ = false, stop_ = false;         // guarded by mutex_
  std::thread thread_;
};

}  // namespace gt
