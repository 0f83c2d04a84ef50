// One turn of the coordinator, without threads and clocks: the same code runs under Loop and in the simulator.
// Order within a turn: decide and apply (Engine::Run), commit, publish to watchers, drop what is finished, answer, send orders.
// Nothing is answered, published or sent before it is on disk.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "coordinator/core/engine.h"

namespace gt {

// Commands of one request: all in one batch, so all on disk or none.
struct LoopItem {
  std::vector<Command> commands;
  // Asked right before the commands are decided; not ok refuses all of them, and `done` gets that status. May be empty.
  std::function<Status(const ClusterState&)> admit;
  // Called once, on the loop's thread: a status that is not ok means that nothing was done. May be empty. Must not block.
  std::function<void(const Status&, std::span<const Reply>)> done;
};

struct LoopOutputs {
  // One transaction. kResourceExhausted: rolled back for want of space, the same call may be made again.
  // Anything else that is not ok ends the process (`fatal`).
  std::function<Status(const Batch&, const ClusterState&)> commit;
  // The batch is on disk; what it finished is still in the state. May be empty.
  std::function<void(const Batch&, const ClusterState&)> publish;
  // Orders for one session's stream; `state` serves to look up the jobs that they name.
  std::function<void(Orders, const ClusterState&)> send;
  // The session was ended from this side (its node is lost): cut its stream, so that the worker comes back anew. May be
  // empty where there are no streams.
  std::function<void(uint64_t session)> end;
  // A commit failed for good. Must not return in the program; in the simulator it marks the coordinator as dead.
  std::function<void(const Status&)> fatal;
};

class LoopBody {
 public:
  // `hold` not empty: held for good, for this reason.
  LoopBody(std::unique_ptr<Engine> engine, LoopOutputs outputs, std::string hold = "")
      : engine_(std::move(engine)), outputs_(std::move(outputs)), for_good_(!hold.empty()), held_(for_good_), held_reason_(std::move(hold)) {}

  // Must not be called while held(). Items that are held keep their callbacks until the commit succeeds.
  void Turn(std::span<const Heard> heard, std::vector<LoopItem> items, Now now);

  // The last commit found no space: nothing is decided until Retry succeeds. Call it every second.
  bool held() const { return held_; }
  const std::string& held_reason() const { return held_reason_; }
  void Retry();
  // Memory holds what is not on disk yet.
  bool ahead() const { return held_ && !for_good_; }

  // While held, items are turned away with this instead of Turn; workers' items are kept by the caller.
  static void Refuse(LoopItem* item, const Status& why);

  // Monotonic instant at which Turn has something to do by itself; 0: at once; kNever: nothing.
  Millis NextDeadline() const { return more_ ? 0 : engine_->NextDeadline(); }

  // What is on disk and what is in memory agree whenever this is read between turns, unless held().
  const ClusterState& state() const { return engine_->state(); }
  const Policy& policy() const { return engine_->policy(); }
  const Engine& engine() const { return *engine_; }

 private:
  struct Waiting {
    std::function<void(const Status&, std::span<const Reply>)> done;
    size_t first = 0, count = 0;
  };
  void Commit();
  void Finish();

  std::unique_ptr<Engine> engine_;
  LoopOutputs outputs_;
  Batch batch_;                   // being committed
  std::vector<Waiting> waiting_;  // for it
  const bool for_good_;
  bool held_, more_ = false;
  std::string held_reason_;
};

}  // namespace gt
