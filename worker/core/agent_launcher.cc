// What the launcher says, and bringing what it does in line with what is wanted.
#include "worker/core/agent.h"

namespace gt::worker {
namespace {
constexpr char kLostByLauncher[] = "the launcher has lost this attempt; how it ended is not known";
}

void Agent::Handle(LauncherSnapshot& input) {
  launcher_known_ = true;
  if (options_.inventory.containment != input.containment) {
    options_.inventory.containment = std::move(input.containment);
    inventory_due_ = true;
  }
  std::set<Uid> held;
  for (LauncherState& state : input.attempts) {
    if (state.unknown) continue;
    held.insert(state.uid);
    Take(state);
  }
  for (auto& [uid, attempt] : attempts_) {
    if (held.contains(uid)) {
      attempt.started = true;
    } else if (attempt.journalled && !attempt.ended()) {
      EndHere(&attempt, ExitWhy::kUnknown, kLostByLauncher);
    }
    Reconcile(&attempt);
  }
}

// Nothing is known to have changed: ranks outlive the connection, and most likely the launcher does too.
void Agent::Handle(LauncherLost&) {
  launcher_known_ = false;
  for (auto& [uid, attempt] : attempts_) attempt.started = false, attempt.gone = {};
}

void Agent::Handle(LauncherState& input) {
  if (!input.unknown) return Take(input);
  Attempt* attempt = Find(input.uid);
  if (!attempt || attempt->ended()) return;
  if (!attempt->stop) return EndHere(attempt, ExitWhy::kUnknown, kLostByLauncher);
  Forgotten(attempt);
}

void Agent::Take(LauncherState& state) {
  Attempt* attempt = Find(state.uid);
  if (!attempt) attempt = Add(state.uid, state.generation);
  if (attempt->exit) {  // final, and only ever said too early when it was not the launcher who said it
    if (!state.exit) Do(StopAttempt{state.uid, options_.stale_grace, Cause::kNone});
    return Answered(attempt);
  }
  attempt->journalled = attempt->started = true;
  attempt->unknown = false;
  uint8_t parts = 0;
  // What was said of an earlier generation may have counted for nothing: all of it is said again of this one.
  if (state.generation > attempt->generation) parts |= kPartPhase | kPartEndpoint | kPartProgress | kPartCheckpoint;
  attempt->generation = state.generation;
  if (attempt->phase != state.phase) attempt->phase = state.phase, parts |= kPartPhase;
  if (state.endpoint.known() && attempt->endpoint != state.endpoint) {
    attempt->endpoint = state.endpoint;
    parts |= kPartEndpoint;
  }
  if (state.formation) {
    attempt->formation = std::move(state.formation);
    parts |= kPartFormation;
  }
  if (state.exit) {
    attempt->phase = AttemptPhase::kEnded;
    attempt->exit = std::move(state.exit);
    TrimExit(&*attempt->exit, options_.exit_bytes);
    parts |= kPartExit | kPartPhase;
    timed_.erase(attempt->uid);
  }
  if (parts) outbox_.Mark(attempt, parts);
  Answered(attempt);
  if (!attempt->ended() && launcher_known_) Go(attempt);
}

void Agent::Answered(Attempt* attempt) {
  if (!attempt->awaited) return;
  attempt->awaited = false;
  if (--awaited_ == 0 && session_.orders_pending()) session_.OrdersDone();
}

// May be called at any time while the launcher is known; repeats nothing that it has confirmed.
void Agent::Reconcile(Attempt* attempt) {
  if (attempt->ended()) return Answered(attempt);
  if (attempt->stop) {
    if (attempt->journalled || attempt->started) Stop(attempt);
    else Forgotten(attempt);
    return;
  }
  if (!attempt->order) return;  // adopted; the coordinator will say
  if (!attempt->journalled && !attempt->started) Launch(attempt);
  if (!attempt->ended()) Go(attempt);
}

void Agent::Launch(Attempt* attempt) {
  if (!attempt->job) {
    std::string job = std::to_string(attempt->order->job_id.value);
    return EndHere(attempt, ExitWhy::kLaunchFailed, "no launch data of job " + job + " has come from the coordinator");
  }
  Result<LauncherStart> start = BuildStart(*attempt->job, *attempt->order, options_.facts);
  if (!start.ok()) return EndHere(attempt, ExitWhy::kLaunchFailed, start.status().message());
  attempt->started = true;
  Do(StartAttempt{std::move(start).value()});
}

void Agent::Go(Attempt* attempt) {
  if (!attempt->order || !attempt->order->master.known() || attempt->stop) return;
  // A task on one node meets by itself the first time.
  bool alone = attempt->order->local_endpoint || attempt->order->group_world_size == 1;
  if (alone && attempt->order->born.empty()) return;
  if (attempt->gone >= attempt->order->generation) return;
  attempt->gone = attempt->order->generation;
  Do(GoAttempt{attempt->uid, attempt->gone, attempt->order->master, attempt->order->born});
}

void Agent::Stop(Attempt* attempt) {
  Do(StopAttempt{attempt->uid, attempt->stop->grace, attempt->stop->why});
}

void Agent::EndHere(Attempt* attempt, ExitWhy why, std::string message) {
  Tell(attempt->uid, message);
  attempt->phase = AttemptPhase::kEnded;
  attempt->exit =
      ExitRecord{.why = why, .message = std::move(message), .failed_at_ms = now_.wall, .ended_ms = now_.wall};
  timed_.erase(attempt->uid);
  outbox_.Mark(attempt, kPartPhase | kPartExit);
  Answered(attempt);
}

void Agent::Forgotten(Attempt* attempt) {
  attempt->unknown = true;
  timed_.erase(attempt->uid);
  outbox_.Mark(attempt, kPartUnknown);
  Answered(attempt);
}

}  // namespace gt::worker
