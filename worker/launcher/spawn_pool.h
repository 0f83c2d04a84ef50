// Threads that start ranks: whoever clones sleeps until the exec, and the loop thread has better things to do meanwhile.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "worker/launcher/poller.h"
#include "worker/launcher/spawn.h"

namespace gt::launcher {

class SpawnPool {
 public:
  static Result<std::unique_ptr<SpawnPool>> Make(Poller* poller, const InheritedLimits& limits);
  // What is being started is waited for; what is not is dropped. Nothing is answered any more.
  ~SpawnPool();
  SpawnPool(const SpawnPool&) = delete;

  using Done = std::function<void(Result<Spawned>)>;
  // Loop thread only; `done` is called there, from a later turn. What `request` points to must live until then.
  void Spawn(const SpawnRequest& request, Done done);

 private:
  struct Job {
    SpawnRequest request;
    Done done;
  };
  explicit SpawnPool(Poller* poller) : poller_(poller) {}
  void Main(Spawner* spawner);

  Poller* poller_;
  std::vector<Spawner> spawners_;  // one a thread
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> queue_;  // guarded by mutex_
  bool ending_ = false;    // guarded by mutex_
};

}  // namespace gt::launcher
