// One node's gt-launcher as it should behave (worker/launcher/protocol.h), with the processes that it owns: the truth
// about what runs where. Its journal survives a crash of the worker, of itself, and a reboot.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/base/rng.h"
#include "tests/sim/meeting.h"
#include "tests/sim/plan.h"
#include "tests/sim/timeline.h"
#include "worker/core/agent.h"

namespace gt::sim {

class Oracle;

const JobPlan& PlanOf(const Plan& plan, const worker::LauncherStart& start);

class Launcher {
 public:
  using ToWorker = std::function<void(worker::Input)>;

  Launcher(Timeline* timeline, Oracle* oracle, Meetings* meetings, const Plan* plan, size_t node, uint64_t seed)
      : timeline_(timeline), oracle_(oracle), meetings_(meetings), plan_(plan), node_(node), rng_(seed) {}

  // A worker connects: it gets everything, then each change. At most one.
  void Attach(ToWorker to_worker);
  void Detach();
  // StartAttempt, GoAttempt, StopAttempt, ForgetAttempt, RearmStopAfter of the attached worker; takes a moment to
  // arrive.
  void Do(worker::Action action);

  // Faults. A crash leaves the ranks alone until the next launcher stops them.
  void Crash(Millis down);
  void Reboot(bool wipe);  // everything dies; Boot brings the launcher back
  void Boot();
  void SetWall(Millis offset) { wall_offset_ = offset; }

  // The truth.
  bool Lives(const Uid& uid) const;
  bool WillLive(const Uid& uid) const;  // or will, without another word from anyone
  size_t entries() const { return entries_.size(); }
  std::string Describe() const;

 private:
  struct Entry {
    worker::LauncherStart start;
    AttemptPhase phase = AttemptPhase::kStarting;
    Generation generation;
    worker::Endpoint endpoint;
    Fate fate;
    Millis journalled_at = 0;
    bool exec_due = false;  // will be started
    bool alive = false;     // a process of it lives
    bool stopping = false;
    Generation born, joined;  // of its process; newest that it has joined
    bool formed = false;      // it has joined once, or replaces one that had
    bool went = false;        // knows a rendezvous
    std::optional<worker::RankExit> down;
    worker::ExitWhy end_why = worker::ExitWhy::kFinished;  // once stopping
    std::string end_message;
    Millis kill_at = kNever;
    Millis stop_after_at = kNever;
    std::optional<worker::ExitRecord> exit;
  };

  void Handle(worker::StartAttempt& what);
  void Handle(worker::GoAttempt& what);
  void Handle(worker::StopAttempt& what);
  void Handle(worker::ForgetAttempt& what);
  void Handle(worker::RearmStopAfter& what);
  template <typename Other>
  void Handle(Other&) {}

  // Runs `what` later if the machine has not rebooted since (and, with `own`, if this launcher still lives).
  void Later(Millis delay, bool own, std::function<void()> what);
  Entry* Find(const Uid& uid);
  // Of ranks that form groups (launcher_reform.cc).
  void Meet(const Uid& uid);
  void RankFails(const Uid& uid, Generation born, const Death& death);
  void Restart(Entry* entry, const std::vector<Generation>& born);
  void GiveUp(const Uid& uid, Generation born);
  void Leave(const Entry& entry);
  std::optional<worker::Formation> FormationOf(const Entry& entry) const;

  void ExecSoon(const Uid& uid);
  void Exec(const Uid& uid);
  void Died(const Uid& uid, int code, int signal);
  void Stop(const Uid& uid, Millis grace, worker::ExitWhy why, std::string message);
  void Kill(const Uid& uid);
  void WatchStopAfter(const Uid& uid);
  void End(const Uid& uid, worker::ExitWhy why, int code, int signal, std::string message);
  void Say(const Entry& entry);
  void Send(worker::Input input);
  worker::LauncherState StateOf(const Entry& entry) const;
  Millis wall() const { return timeline_->now() + wall_offset_; }

  Timeline* const timeline_;
  Oracle* const oracle_;
  Meetings* const meetings_;
  const Plan* const plan_;
  const size_t node_;
  Rng rng_;
  Millis wall_offset_ = 0;
  std::map<Uid, Entry> entries_;  // the journal
  bool up_ = true;
  uint64_t boot_ = 1, life_ = 1, connection_ = 0;
  ToWorker to_worker_;
  Millis last_in_ = 0, last_out_ = 0;  // order is kept, both ways
};

}  // namespace gt::sim
