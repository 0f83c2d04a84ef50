// Now and then, on a thread of its own: deletes output, jobs and history that are older than their retention, and makes the
// disk's reserve again when there is space for it.
#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>

#include "common/log/log.h"
#include "coordinator/logs/log_store.h"
#include "coordinator/loop.h"
#include "coordinator/service/disk_guard.h"
#include "coordinator/store/store.h"

namespace gt {

class Housekeeper {
 public:
  struct Retention {
    Millis logs = 0, history = 0;  // 0: for ever
  };
  Housekeeper(Loop* loop, Store* store, LogStore* logs, DiskGuard* disk, Log* log, Retention retention)
      : loop_(loop), store_(store), logs_(logs), disk_(disk), log_(log), retention_(retention) {}
  ~Housekeeper() { Stop(); }
  void Start();
  void Stop();  // idempotent

 private:
  void Run();
  Status ExpireLogs();
  Status ExpireHistory();
  bool Pause(Millis time);  // false once stopped

  Loop* const loop_;
  Store* const store_;
  LogStore* const logs_;
  DiskGuard* const disk_;
  Log* const log_;
  const Retention retention_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace gt
