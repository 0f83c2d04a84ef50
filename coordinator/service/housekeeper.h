// Now and then, on a thread of its own: deletes output that is older than its retention, and makes the disk's reserve again
// when there is space for it.
#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>

#include "common/log/log.h"
#include "coordinator/logs/log_store.h"
#include "coordinator/loop.h"
#include "coordinator/service/disk_guard.h"

namespace gt {

class Housekeeper {
 public:
  // retention 0: output is kept for ever.
  Housekeeper(Loop* loop, LogStore* logs, DiskGuard* disk, Log* log, Millis retention)
      : loop_(loop), logs_(logs), disk_(disk), log_(log), retention_(retention) {}
  ~Housekeeper() { Stop(); }
  void Start();
  void Stop();  // idempotent

 private:
  void Run();
  Status ExpireLogs();

  Loop* const loop_;
  LogStore* const logs_;
  DiskGuard* const disk_;
  Log* const log_;
  const Millis retention_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace gt
