#include "tests/sim/launcher.h"

#include "tests/sim/oracle.h"

namespace gt::sim {
namespace {

constexpr Millis kJournalLag = 50;  // what was appended since may be lost with the power

}  // namespace

const JobPlan& PlanOf(const Plan& plan, const worker::LauncherStart& start) {
  return plan.jobs.at(std::stoul(start.argv.at(1)));
}

// --- the worker's connection
// ------------------------------------------------------------------------------------------

void Launcher::Attach(ToWorker to_worker) {
  to_worker_ = std::move(to_worker);
  ++connection_;
  if (!up_) return;
  worker::LauncherSnapshot snapshot{.containment = "sim"};
  for (const auto& [uid, entry] : entries_) snapshot.attempts.push_back(StateOf(entry));
  Send(std::move(snapshot));
}

void Launcher::Detach() {
  to_worker_ = nullptr;
  ++connection_;
}

void Launcher::Send(worker::Input input) {
  if (!to_worker_ || !up_) return;
  last_out_ = std::max(last_out_, timeline_->now() + static_cast<Millis>(rng_.Below(3)));
  timeline_->At(last_out_, [this, connection = connection_, input = std::move(input)] {
    if (connection == connection_) to_worker_(input);
  });
}

void Launcher::Do(worker::Action action) {
  last_in_ = std::max(last_in_, timeline_->now() + static_cast<Millis>(rng_.Below(3)));
  timeline_->At(last_in_, [this, life = life_, action = std::move(action)]() mutable {
    if (life == life_ && up_) std::visit([this](auto& what) { Handle(what); }, action);
  });
}

worker::LauncherState Launcher::StateOf(const Entry& entry) const {
  return {.uid = entry.start.uid,
          .generation = entry.generation,
          .phase = entry.phase,
          .endpoint = entry.endpoint,
          .exit = entry.exit,
          .formation = FormationOf(entry)};
}

void Launcher::Say(const Entry& entry) { Send(StateOf(entry)); }

// --- what it is told
// --------------------------------------------------------------------------------------------------

Launcher::Entry* Launcher::Find(const Uid& uid) {
  auto found = entries_.find(uid);
  return found == entries_.end() ? nullptr : &found->second;
}

void Launcher::Handle(worker::StartAttempt& what) {
  const Uid uid = what.start.uid;
  if (Entry* known = Find(uid)) return Say(*known);
  Entry& entry = entries_[uid];
  entry.start = std::move(what.start);
  entry.generation = entry.born = entry.start.generation;
  entry.formed = entry.generation.value > 1;
  entry.journalled_at = timeline_->now();
  entry.fate = FateOf(PlanOf(*plan_, entry.start), entry.start.task_index, entry.start.number, entry.start.group_rank);
  oracle_->OnTaken(node_, entry.start);
  if (entry.start.hold_port)
    entry.endpoint = {entry.start.node_address, static_cast<uint16_t>(20000 + rng_.Below(10000))};
  if (entry.start.stop_after > 0) {
    entry.stop_after_at = timeline_->now() + entry.start.stop_after;
    WatchStopAfter(uid);
  }
  Say(entry);
  if (entry.fate.launch_fails) return End(uid, worker::ExitWhy::kLaunchFailed, -1, 0, "no such file");
  if (entry.start.local_endpoint || entry.start.contract) ExecSoon(uid);
}

void Launcher::Handle(worker::GoAttempt& what) {
  Entry* entry = Find(what.uid);
  if (!entry) return Send(worker::LauncherState{.uid = what.uid, .unknown = true});
  if (what.generation < entry->generation) return;
  entry->generation = what.generation;
  entry->went = true;
  if (entry->fate.meets) {
    Restart(entry, what.born);
    if (entry->alive) Meet(what.uid);
    Say(*entry);
  }
  if (!entry->start.contract && !entry->exec_due && !entry->exit && !entry->stopping) ExecSoon(what.uid);
}

void Launcher::Handle(worker::StopAttempt& what) {
  if (!Find(what.uid)) return Send(worker::LauncherState{.uid = what.uid, .unknown = true});
  Stop(what.uid, what.grace, worker::ExitWhy::kStopped, "stopped");
}

void Launcher::Handle(worker::ForgetAttempt& what) {
  const Entry* entry = Find(what.uid);
  if (entry && entry->exit) entries_.erase(what.uid);
}

void Launcher::Handle(worker::RearmStopAfter& what) {
  Entry* entry = Find(what.uid);
  if (!entry) return Send(worker::LauncherState{.uid = what.uid, .unknown = true});
  if (entry->start.stop_after > 0) entry->stop_after_at = timeline_->now() + what.remaining;
}

// --- processes
// --------------------------------------------------------------------------------------------------------

void Launcher::Later(Millis delay, bool own, std::function<void()> what) {
  timeline_->After(delay, [this, own, boot = boot_, life = life_, what = std::move(what)] {
    if (boot == boot_ && (!own || life == life_)) what();
  });
}

void Launcher::ExecSoon(const Uid& uid) {
  Entry* entry = Find(uid);
  entry->exec_due = true;
  Later(entry->fate.exec_takes, true, [this, uid] { Exec(uid); });
}

void Launcher::Exec(const Uid& uid) {
  Entry* entry = Find(uid);
  if (!entry || entry->exit || entry->stopping) return;
  entry->alive = true;
  oracle_->OnExec(node_, entry->start);
  entry->phase = AttemptPhase::kRunning;
  if (entry->start.contract && entry->start.group_rank == 0 && entry->start.group_world_size > 1)
    entry->endpoint = {entry->start.node_address, static_cast<uint16_t>(30000 + rng_.Below(10000))};
  Say(*entry);
  const Fate fate = entry->fate;
  if (fate.meets) {
    Death death = DeathOf(PlanOf(*plan_, entry->start), entry->start.task_index, entry->start.number, entry->start.group_rank, entry->born);
    if (death.after != kNever) Later(death.after, false, [this, uid, born = entry->born, death] { RankFails(uid, born, death); });
    if (entry->went || entry->start.local_endpoint) Meet(uid);
  } else if (fate.runs != kNever) Later(fate.runs, false, [this, uid, fate] { Died(uid, fate.code, fate.signal); });
  if (entry->start.time_limit > 0)
    Later(entry->start.time_limit, true, [this, uid] {
      if (const Entry* late = Find(uid); late && late->alive && !late->stopping)
        Stop(uid, late->start.grace, worker::ExitWhy::kTimeLimit, "time limit");
    });
  if (!fate.progresses) return;
  Millis runs = std::min<Millis>(fate.runs, 20 * kSecond);
  for (uint64_t step = 1; step <= 3; ++step)
    Later(runs * static_cast<Millis>(step) / 4, true, [this, uid, number = entry->start.number, step] {
      if (const Entry* running = Find(uid); !running || !running->alive) return;
      uint64_t at = number * 10 + step;
      Send(worker::RankSaid{uid, worker::Progress{.step = at},
                            worker::CheckpointNotice{.step = at, .path = ToHex(uid) + "/" + std::to_string(at)}});
    });
}

void Launcher::Died(const Uid& uid, int code, int signal) {
  Entry* entry = Find(uid);
  if (!entry || !entry->alive) return;
  entry->alive = false;
  Leave(*entry);
  if (!up_) return;  // the next launcher finds nothing and cannot know how it ended
  if (entry->stopping) return End(uid, entry->end_why, code, signal, entry->end_message);
  End(uid, code == 0 && signal == 0 ? worker::ExitWhy::kFinished : worker::ExitWhy::kRankFailed, code, signal, "");
}

void Launcher::Stop(const Uid& uid, Millis grace, worker::ExitWhy why, std::string message) {
  Entry* entry = Find(uid);
  if (entry->exit) return Say(*entry);
  bool first = !entry->stopping;
  if (first) {
    entry->stopping = true;
    entry->end_why = why;
    entry->end_message = std::move(message);
    entry->phase = AttemptPhase::kStopping;
    Say(*entry);
    if (!entry->alive) return End(uid, why, -1, 0, entry->end_message);
    if (!entry->fate.ignores_term)
      Later(std::min(entry->fate.dies_in, grace), false, [this, uid] { Died(uid, 0, 15); });
  }
  Millis kill_at = timeline_->now() + grace;
  if (kill_at >= entry->kill_at) return;
  entry->kill_at = kill_at;
  Later(grace, true, [this, uid, kill_at] {
    if (const Entry* late = Find(uid); late && late->alive && late->kill_at == kill_at) Kill(uid);
  });
}

void Launcher::Kill(const Uid& uid) {
  Later(Find(uid)->fate.dies_in, false, [this, uid] { Died(uid, 0, 9); });
}

void Launcher::WatchStopAfter(const Uid& uid) {
  Millis at = Find(uid)->stop_after_at;
  Later(at - timeline_->now(), true, [this, uid] {
    Entry* entry = Find(uid);
    if (!entry || entry->exit || entry->stopping) return;
    if (timeline_->now() < entry->stop_after_at) return WatchStopAfter(uid);
    Stop(uid, entry->start.grace, worker::ExitWhy::kDisconnected, "stop_after");
  });
}

// The record is on disk before anybody hears of it.
void Launcher::End(const Uid& uid, worker::ExitWhy why, int code, int signal, std::string message) {
  Later(static_cast<Millis>(rng_.Below(20)), true, [=, this] {
    Entry* entry = Find(uid);
    if (!entry || entry->exit) return;
    worker::ExitRecord record{
        .why = why, .message = message, .first_failed = entry->start.first_rank, .ended_ms = wall()};
    if (code >= 0)
      record.ranks.push_back({.rank = entry->start.first_rank, .code = code, .signal = signal, .ended_ms = wall()});
    entry->exit = std::move(record);
    entry->phase = AttemptPhase::kEnded;
    Say(*entry);
  });
}

// --- faults
// -----------------------------------------------------------------------------------------------------------

void Launcher::Crash(Millis down) {
  if (!up_) return;
  Send(worker::LauncherLost{});
  up_ = false;
  ++life_;
  Later(down, true, [this] {
    Boot();
    for (auto& [uid, entry] : entries_) {
      if (entry.exit) continue;
      entry.stopping = true;
      entry.end_why = worker::ExitWhy::kUnknown;
      entry.end_message = "the launcher was restarted";
      if (entry.alive)
        Kill(uid);
      else
        End(uid, entry.end_why, -1, 0, entry.end_message);
    }
  });
}

void Launcher::Reboot(bool wipe) {
  up_ = false;
  ++boot_, ++life_;
  Detach();
  for (const auto& [uid, entry] : entries_) Leave(entry);
  if (wipe) entries_.clear();
  std::erase_if(entries_, [this](const auto& pair) {
    return !pair.second.exit && pair.second.journalled_at + kJournalLag > timeline_->now() && rng_.OneIn(2);
  });
  for (auto& [uid, entry] : entries_) {
    entry.alive = false;
    if (entry.exit) continue;
    entry.exit = worker::ExitRecord{
        .why = worker::ExitWhy::kNodeRebooted, .message = "the node was rebooted", .ended_ms = wall()};
    entry.phase = AttemptPhase::kEnded;
  }
}

void Launcher::Boot() {
  up_ = true;
  if (to_worker_) Attach(std::move(to_worker_));
}

// --- the truth
// --------------------------------------------------------------------------------------------------------

bool Launcher::Lives(const Uid& uid) const {
  auto found = entries_.find(uid);
  return found != entries_.end() && found->second.alive;
}

bool Launcher::WillLive(const Uid& uid) const {
  auto found = entries_.find(uid);
  if (found == entries_.end() || found->second.exit) return false;
  return found->second.alive || (up_ && found->second.exec_due && !found->second.stopping);
}

std::string Launcher::Describe() const {
  std::string text;
  for (const auto& [uid, entry] : entries_)
    text += " " + ToHex(uid).substr(0, 8) + ":" + std::string(gt::Name(entry.phase)) + (entry.alive ? "(alive)" : "");
  return text.empty() ? " nothing" : text;
}

}  // namespace gt::sim
