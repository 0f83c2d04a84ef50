// The loop of a worker: one thread owns the agent, reads the clock once a batch, and carries out what the agent says.
// It never waits for the disk, the network or the launcher.
#pragma once
#include <atomic>
#include <functional>

#include "worker/runtime/input_queue.h"
#include "worker/runtime/launcher_client.h"
#include "worker/runtime/sync_client.h"

namespace gt::worker {

// What the driver asks of its surroundings; called on the loop thread.
struct DriverHooks {
  std::function<void(Epoch epoch)> save_epoch;  // must not wait for the disk
  std::function<void(const Note& note)> note;
};

class Driver {
 public:
  Driver(Agent::Options options, TargetSource target, DriverHooks hooks);

  // The events for a LauncherClient, which must end before the driver does.
  std::function<void(std::vector<Input>)> launcher_inputs();
  void SetLauncher(LauncherClient* launcher) { launcher_ = launcher; }

  // Until Stop (ok), or until the coordinator refuses this worker (its words). Ranks are left alone.
  Status Run();
  // Any thread, also a signal watcher's.
  void Stop();

 private:
  void Perform(std::vector<Action> actions);
  bool Current(const Arrival& arrival) const { return arrival.stream == 0 || arrival.stream == stream_; }
  void OnDisconnected(uint64_t stream, const Status& why);

  InputQueue queue_;
  Agent agent_;
  DriverHooks hooks_;
  LauncherClient* launcher_ = nullptr;
  std::atomic<bool> stop_{false};
  std::atomic<bool> welcomed_{false};  // once in this life
  std::mutex refused_mutex_;
  Status refused_;
  uint64_t stream_ = 0;                // the present one; older ones' news is dropped
  SyncClient sync_;                    // last: its events use all of the above
};

}  // namespace gt::worker
