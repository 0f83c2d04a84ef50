// The coordinator as a process: a real LoopBody with a real Engine, driven as coordinator/loop.cc drives it, on a disk
// that outlives it. May die at any moment and be started again on what the disk kept.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/canary.h"
#include "tests/sim/disk.h"
#include "tests/sim/edge.h"
#include "tests/sim/plan.h"

namespace gt::sim {

class Coordinator {
 public:
  struct Parts {
    Timeline* timeline = nullptr;
    Network* network = nullptr;
    Oracle* oracle = nullptr;
    Policy policy;
    Canary canary = Canary::kNone;
    uint64_t check_every = 1;  // turns between two checks of the invariants
  };
  Coordinator(Parts parts, uint64_t seed)
      : disk(seed ^ 0x4444), parts_(std::move(parts)), rng_(seed), planted_(parts_.canary) {}

  void Start();
  bool up() const { return process_ != nullptr; }
  // Refused when the process is down, or has no space.
  Status Push(LoopItem item);

  // From the network.
  bool Accept(StreamId id, size_t node);
  void OnReport(StreamId id, const std::string& bytes);
  void OnGone(StreamId id);

  // Faults.
  void Crash(Millis down);
  void CrashAtCommit(int64_t write, Millis down);  // -1: when it is on disk
  void Stall(Millis lasts);
  void SetDiskFull(bool full) {
    disk.SetFull(full);
    disk_full_ = full;
  }
  void JumpWall(Millis by) { wall_offset_ += by; }
  void Calm();

  const ClusterState* state() const { return up() ? &process_->body->state() : nullptr; }
  uint64_t turns() const { return turns_; }
  uint64_t starts() const { return starts_; }

  Disk disk;

 private:
  struct Process {
    HeardBoard heard;
    std::unique_ptr<Edge> edge;
    std::unique_ptr<LoopBody> body;
    std::deque<LoopItem> clients, workers;
    Millis next_gather = 0, next_retry = 0;
    bool dead = false;
  };
  struct Expected {                  // of the disk at the next start
    std::vector<std::string> texts;  // any of these
    std::unique_ptr<Batch> batch;    // the one that makes the second of the first, perhaps on disk
    ClusterState state;              // with it
    Millis at = 0;
  };

  Now Clock() const {
    return {.mono = parts_.timeline->now() + mono_offset_, .wall = parts_.timeline->now() + wall_offset_};
  }
  LoopOutputs Outputs();
  Status Commit(const Batch& batch, const ClusterState& state);
  void Observe(const Batch& batch, const ClusterState& state);
  void SendOrders(Orders orders, const ClusterState& state);
  void PushFromWorker(LoopItem item);
  void WakeAt(Millis when);
  void Run();
  void Turn();
  void Rest();
  void Bury();
  void CheckLoaded(ClusterState loaded);

  const Parts parts_;
  Rng rng_;
  Planted planted_;
  Millis mono_offset_ = 0, wall_offset_ = 1'700'000'000'000;
  std::unique_ptr<Process> process_;
  uint64_t incarnation_ = 0, wake_ = 0, turns_ = 0, starts_ = 0;
  Millis wake_at_ = kNever, stalled_until_ = 0, decided_at_ = 0, down_ = 0;
  bool disk_full_ = false, crash_armed_ = false, crash_after_ = false;
  std::string before_;  // what is on disk while a turn is in progress that may be lost
  Expected expected_;
  int idle_turns_ = 0;  // in a row, that had nothing to do
};

// All that the disk must keep, and all that is derived from it, as text.
std::string Comparable(ClusterState state, const Policy& policy);

}  // namespace gt::sim
