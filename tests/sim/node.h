// One machine: its launcher with the ranks, and the worker process around a real Agent, which is driven as the worker's
// loop drives it (worker/runtime/driver.h).
#pragma once
#include <deque>
#include <memory>
#include <string>

#include "tests/sim/launcher.h"
#include "tests/sim/network.h"

namespace gt::sim {

class Oracle;

class Node {
 public:
  struct Parts {
    Timeline* timeline = nullptr;
    Network* network = nullptr;
    Oracle* oracle = nullptr;
    Meetings* meetings = nullptr;
    const Plan* plan = nullptr;
  };
  Node(Parts parts, size_t index, uint64_t seed);

  void StartWorker();

  // From the network.
  void OnConnected(StreamId stream, bool ok);
  void OnOrders(StreamId stream, const std::string& bytes);
  void OnLost(StreamId stream);

  // Faults.
  void CrashWorker(Millis down);
  void StallWorker(Millis lasts);
  void Reboot(Millis down, bool wipe);
  void LoseGpus(Millis lasts);
  void JumpWall(Millis by) {
    wall_offset_ += by;
    launcher.SetWall(wall_offset_);
  }

  std::string name() const { return "n" + std::to_string(index_); }
  const worker::Agent* agent() const { return agent_.get(); }  // null while the worker is down

  Launcher launcher;

 private:
  struct Arrival {
    StreamId stream = 0;
    worker::Input input;
  };
  void Put(StreamId stream, worker::Input input);
  void Step();
  void Perform(std::vector<worker::Action> actions);
  void WakeAt(Millis when);
  worker::Agent::Options MakeOptions();
  worker::Inventory MakeInventory() const;
  Now now() const;

  const Parts parts_;
  const size_t index_;
  Rng rng_;
  // The machine.
  bool on_ = true;
  uint64_t boot_ = 1;
  Millis gpus_back_at_ = 0;  // half of them are gone until then
  Millis wall_offset_ = 1'700'000'000'000, mono_offset_ = 0;
  // On its disk.
  Uid uid_;
  Epoch epoch_;
  // The worker process.
  uint64_t process_ = 0;
  std::unique_ptr<worker::Agent> agent_;
  std::deque<Arrival> inbox_;
  StreamId stream_ = 0;  // the present one; older ones' news is dropped
  bool stream_open_ = false;
  Millis stalled_until_ = 0, wake_at_ = kNever;
  uint64_t wake_ = 0;
  Millis steps_since_ = 0;
  int steps_ = 0;
};

}  // namespace gt::sim
