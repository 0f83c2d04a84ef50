// The agent of a node: between the coordinator, which says what should be, and the launcher, which says what is. A pure
// function of its inputs and the time given: no clock, no I/O, no threads. It may be restarted at any moment: what it
// knows comes again from the launcher's and the coordinator's snapshots.
//
// Rules:
//  - orders of an epoch lower than one obeyed before are not obeyed;
//  - RUN of an attempt that is held changes nothing but its rendezvous; STOP is final;
//  - an attempt that a complete list of orders does not name is stopped;
//  - an exit is reported until the coordinator says `forget`, which the launcher is then told;
//  - orders are acknowledged when the launcher has journalled every start in them (or the start was refused);
//  - at most one report with a seq is in flight; what changes meanwhile travels together in the next one.
#pragma once
#include <set>
#include <variant>
#include <vector>

#include "worker/core/outbox.h"
#include "worker/core/session.h"

namespace gt::worker {

// ---- inputs ----

struct Connected {};
struct Disconnected { std::string why; };
struct OrdersReceived { NodeOrders orders; };

// What the launcher says of one attempt.
struct LauncherState {
  Uid uid;
  Generation generation;
  bool unknown = false;  // the launcher was told something about an attempt that it does not have
  AttemptPhase phase = AttemptPhase::kStarting;
  Endpoint endpoint;     // contract: where local rank 0 listens; scripts: the port held for it
  std::optional<ExitRecord> exit;
  std::optional<Formation> formation;  // of ranks that can re-form
};
// A connection to a launcher stands and this is all that it holds.
struct LauncherSnapshot {
  std::vector<LauncherState> attempts;
  std::string containment;
};
struct LauncherLost {};
struct RankSaid {
  Uid uid;
  std::optional<Progress> progress;
  std::optional<CheckpointNotice> checkpoint;
};
struct InventoryChanged { Inventory inventory; };

using Input = std::variant<Connected, Disconnected, OrdersReceived, LauncherState, LauncherSnapshot, LauncherLost,
                           RankSaid, InventoryChanged>;

// ---- actions, to be done in this order; each may be repeated without harm ----

struct Connect {};                            // open a stream; answer with Connected or Disconnected
struct Disconnect { std::string why; };       // drop the stream; no answer is needed
struct SendReport { NodeReport report; };     // over the present stream
struct Refused { std::string why; };          // this worker may not join: end
struct SaveEpoch { Epoch epoch; };            // so that the next start knows it
struct StartAttempt { LauncherStart start; };
struct GoAttempt { Uid uid; Generation generation; Endpoint master; std::vector<Generation> born; };
struct StopAttempt { Uid uid; Millis grace = 0; Cause why = Cause::kNone; };  // kNone: stale, nobody wants it
struct ForgetAttempt { Uid uid; };
struct RearmStopAfter { Uid uid; Millis remaining = 0; };
struct Note { Uid uid; std::string text; };   // one line for the log; empty uid: about the node

using Action = std::variant<Connect, Disconnect, SendReport, Refused, SaveEpoch, StartAttempt, GoAttempt, StopAttempt,
                            ForgetAttempt, RearmStopAfter, Note>;

class Agent {
 public:
  struct Options {
    NodeHello hello;
    Inventory inventory;
    NodeFacts facts;
    Session::Options session;
    Millis progress_every = 250;         // progress is reported at most this often
    size_t part_bytes = 240 << 10;       // of one report
    size_t exit_bytes = 192 << 10;       // of one exit record
    size_t launch_bytes = 256u << 20;    // launch data of jobs; beyond that the stream is begun anew
    Millis stale_grace = 5000;           // for attempts that nobody wants
  };
  explicit Agent(Options options);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Takes a batch of inputs (none: only the time has passed) and says what to do. At most one SendReport per step.
  std::vector<Action> Step(std::vector<Input> inputs, Now now);
  // When Step wants to be called again at the latest; kNever when only for inputs.
  Millis NextDeadline() const;

  const AttemptMap& attempts() const { return attempts_; }
  const Session& session() const { return session_; }
  bool launcher_known() const { return launcher_known_; }

 private:
  void Handle(Connected& input);
  void Handle(Disconnected& input);
  void Handle(OrdersReceived& input);
  void Handle(LauncherState& input);
  void Handle(LauncherSnapshot& input);
  void Handle(LauncherLost& input);
  void Handle(RankSaid& input);
  void Handle(InventoryChanged& input);

  // agent_orders.cc
  bool OnWelcome(const Welcome& welcome);
  void OnBeat(uint64_t beat);
  void OnContents(NodeOrders& orders);
  void TakeJobs(NodeOrders& orders);
  void OnRun(AttemptOrder& order);
  void OnStop(const AttemptOrder& order);
  void OnForget(const Uid& uid);
  void EndOrdersSnapshot();
  std::shared_ptr<const JobLaunch> FindJob(JobId id) const;

  // agent_launcher.cc
  void Take(LauncherState& state);
  void Launch(Attempt* attempt);
  void Go(Attempt* attempt);
  void Stop(Attempt* attempt);
  void EndHere(Attempt* attempt, ExitWhy why, std::string message);
  void Forgotten(Attempt* attempt);
  void Answered(Attempt* attempt);
  void Reconcile(Attempt* attempt);

  Attempt* Find(const Uid& uid);
  Attempt* Add(const Uid& uid, Generation generation);
  void Drop(const std::string& why);
  void Flush();
  void Do(Action action) { actions_.push_back(std::move(action)); }
  void Tell(const Uid& uid, std::string text) { Do(Note{uid, std::move(text)}); }

  Options options_;
  Session session_;
  AttemptMap attempts_;
  Outbox outbox_;
  Now now_;                       // of the step in progress
  std::vector<Action> actions_;   // of the step in progress

  bool launcher_known_ = false;
  bool hello_due_ = false, inventory_due_ = false;
  uint64_t pong_due_ = 0;
  std::string last_failure_;
  size_t awaited_ = 0;            // attempts whose start the launcher has yet to confirm before orders are acknowledged
  bool in_orders_snapshot_ = false;
  std::set<Uid> named_;           // by the list of orders that is coming in
  std::map<JobId, std::shared_ptr<const JobLaunch>> jobs_;  // of this stream
  size_t job_bytes_ = 0;
  std::set<Uid> timed_;           // attempts with stop_after: re-armed by each acknowledged beat
};

}  // namespace gt::worker
