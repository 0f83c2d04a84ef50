#include "tests/sim/coordinator.h"

#include <algorithm>
#include <sstream>

#include "coordinator/core/apply.h"
#include "coordinator/core/load.h"
#include "tests/sim/oracle.h"
#include "tests/support/state_text.h"

namespace gt::sim {

std::string Comparable(ClusterState state, const Policy& policy) {
  std::erase_if(state.jobs, [](const auto& pair) { return pair.second.ended_wall != 0; });
  std::erase_if(state.tasks, [](const auto& pair) { return IsFinal(pair.second.state); });
  std::erase_if(state.attempts,
                [](const auto& pair) { return pair.second.phase == AttemptPhase::kEnded && pair.second.AllGone(); });
  Derive(&state, policy, {.mono = 1, .wall = 1'700'000'000'000});
  std::ostringstream text;
  text << TextOf(state);
  for (const Timer& timer : state.timers)
    text << "timer " << timer.at << ' ' << static_cast<int>(timer.kind) << ' ' << ToHex(timer.uid) << ' '
         << ToString(timer.task, true) << ' ' << timer.node.value << '\n';
  for (const auto& [priority, buckets] : state.ready)
    for (const auto& [shape, bucket] : buckets)
      for (const ReadyKey& key : bucket.entries)
        text << "ready " << priority << ' ' << key.job.value << '_' << key.index << '\n';
  for (const auto& [id, node] : state.nodes)
    text << "free " << node.name << ' ' << node.cpus_free << ' ' << node.memory_free << ' ' << node.gpus_free << ' '
         << node.held.size() << '\n';
  for (JobId id : state.sweeping) text << "sweeping " << id.value << '\n';
  return text.str();
}

namespace {

// The first line in which two texts differ.
std::string Difference(const std::string& a, const std::string& b) {
  std::istringstream in_a(a), in_b(b);
  std::string line_a, line_b;
  while (true) {
    bool more_a = static_cast<bool>(std::getline(in_a, line_a)), more_b = static_cast<bool>(std::getline(in_b, line_b));
    if (!more_a && !more_b) return "nothing";
    if (more_a != more_b || line_a != line_b)
      return "memory had [" + (more_a ? line_a : "") + "], the disk has [" + (more_b ? line_b : "") + "]";
  }
}

}  // namespace

// --- life and death
// ---------------------------------------------------------------------------------------------------

void Coordinator::Start() {
  ++incarnation_;
  mono_offset_ = static_cast<Millis>(rng_.Below(1'000'000'000)) - parts_.timeline->now();
  Status opened = disk.Open();
  Result<Epoch> epoch = opened.ok() ? disk.BumpEpoch() : Result<Epoch>(opened);
  Result<ClusterState> state = epoch.ok() ? disk.Load() : Result<ClusterState>(epoch.status());
  if (!state.ok()) {
    if (state.status().code() != Code::kResourceExhausted)
      return parts_.oracle->Fail("the coordinator cannot start: " + state.status().message());
    disk.Crash();
    return parts_.timeline->After(kSecond, [this, incarnation = incarnation_] {
      if (incarnation == incarnation_) Start();
    });
  }
  CheckLoaded(*state);
  ++starts_;
  process_ = std::make_unique<Process>();
  Derive(&*state, parts_.policy, Clock());
  parts_.oracle->OnStarted(*state, &disk);
  process_->edge =
      std::make_unique<Edge>(Edge::Parts{.timeline = parts_.timeline,
                                         .network = parts_.network,
                                         .oracle = parts_.oracle,
                                         .heard = &process_->heard,
                                         .clock = [this] { return Clock(); },
                                         .push = [this](LoopItem item) { PushFromWorker(std::move(item)); },
                                         .policy = parts_.policy,
                                         .epoch = state->epoch});
  auto engine = std::make_unique<Engine>(
      *std::move(state), parts_.policy,
      [this] {
        return Uid{rng_.Next(), rng_.Next()};
      },
      [this](const std::string& key) { return disk.FindKey(key); });
  process_->body = std::make_unique<LoopBody>(std::move(engine), Outputs());
  parts_.oracle->Trace(
      [&] { return "coordinator starts, epoch " + std::to_string(process_->body->state().epoch.value); });
  wake_at_ = kNever;
  WakeAt(parts_.timeline->now());
}

void Coordinator::CheckLoaded(ClusterState loaded) {
  if (starts_ == 0) return;
  std::string text = Comparable(loaded, parts_.policy);
  const std::vector<std::string>& texts = expected_.texts;
  if (std::find(texts.begin(), texts.end(), text) == texts.end())
    return parts_.oracle->Fail("what was loaded is not what was committed: " + Difference(texts.back(), text));
  if (expected_.batch && text == texts.back() && texts.front() != texts.back())
    parts_.oracle->OnTurn(*expected_.batch, expected_.state, expected_.at);
  expected_ = {};
}

void Coordinator::Crash(Millis down) {
  if (!up()) return;
  const LoopBody& body = *process_->body;
  expected_ = {.texts = {body.held() ? before_ : Comparable(body.state(), parts_.policy)}};
  down_ = down;
  Bury();
}

void Coordinator::Bury() {
  parts_.oracle->Trace([&] { return "coordinator dies for " + std::to_string(down_) + " ms"; });
  process_.reset();
  disk.Crash();
  parts_.network->CoordinatorDied();
  crash_armed_ = false;
  stalled_until_ = 0;
  parts_.timeline->After(down_, [this, incarnation = ++incarnation_] {
    if (incarnation == incarnation_) Start();
  });
}

void Coordinator::CrashAtCommit(int64_t write, Millis down) {
  if (!up()) return;
  crash_armed_ = true;
  crash_after_ = write < 0;
  down_ = down;
  if (!crash_after_) disk.CrashAtWrite(write);
}

void Coordinator::Stall(Millis lasts) {
  if (!up()) return;
  stalled_until_ = std::max(stalled_until_, parts_.timeline->now() + lasts);
  wake_at_ = kNever;
  WakeAt(stalled_until_);
}

void Coordinator::Calm() {
  SetDiskFull(false);
  crash_armed_ = false;
  disk.CrashAtWrite(-1);
}

// --- what comes in
// ----------------------------------------------------------------------------------------------------

bool Coordinator::Accept(StreamId id, size_t node) {
  if (up()) process_->edge->OnAccepted(id, node);
  return up();
}
void Coordinator::OnReport(StreamId id, const std::string& bytes) {
  if (up()) process_->edge->OnReport(id, bytes);
}
void Coordinator::OnGone(StreamId id) {
  if (up()) process_->edge->OnGone(id);
}

Status Coordinator::Push(LoopItem item) {
  if (!up()) return {Code::kUnavailable, "nobody answers"};
  if (process_->body->held()) return {Code::kResourceExhausted, "no space"};
  process_->clients.push_back(std::move(item));
  WakeAt(parts_.timeline->now());
  return OkStatus();
}

void Coordinator::PushFromWorker(LoopItem item) {
  planted_.OnItem(&item, process_->body->state());
  process_->workers.push_back(std::move(item));
  if (!process_->body->held()) WakeAt(parts_.timeline->now());
}

// --- the loop
// ---------------------------------------------------------------------------------------------------------

void Coordinator::WakeAt(Millis when) {
  when = std::max({when, parts_.timeline->now(), stalled_until_});
  if (when >= wake_at_) return;
  wake_at_ = when;
  parts_.timeline->At(when, [this, wake = ++wake_, incarnation = incarnation_] {
    if (wake == wake_ && incarnation == incarnation_ && up()) Run();
  });
}

void Coordinator::Run() {
  wake_at_ = kNever;
  if (parts_.timeline->now() < stalled_until_) return WakeAt(stalled_until_);
  if (!process_->body->held()) {
    Turn();
  } else {
    for (LoopItem& item : std::exchange(process_->clients, {}))
      LoopBody::Refuse(&item, {Code::kResourceExhausted, "no space"});
    if (Clock().mono >= process_->next_retry) {
      process_->next_retry = Clock().mono + kSecond;
      process_->body->Retry();
    }
  }
  if (process_->dead) return Bury();
  Rest();
}

void Coordinator::Turn() {
  std::vector<LoopItem> items;
  for (std::deque<LoopItem>* queue : {&process_->workers, &process_->clients}) {
    for (LoopItem& item : *queue) items.push_back(std::move(item));
    queue->clear();
  }
  Now now = Clock();
  std::vector<Heard> heard;
  // What a session that ends was heard last must not go with it.
  bool ends = std::any_of(items.begin(), items.end(),
                          [](const LoopItem& item) { return std::holds_alternative<NodeGone>(item.commands.at(0)); });
  if (ends || now.mono >= process_->next_gather || now.mono >= process_->body->NextDeadline()) {
    heard = process_->heard.Gather();
    process_->next_gather = now.mono + 250;
  }
  if (crash_armed_ || disk_full_) before_ = Comparable(process_->body->state(), parts_.policy);
  decided_at_ = parts_.timeline->now();
  idle_turns_ = items.empty() ? idle_turns_ + 1 : 0;
  if (idle_turns_ > 1000) return parts_.oracle->Fail("the loop spins");
  planted_.OnTurn(&items);
  process_->body->Turn(heard, std::move(items), now);
  process_->next_retry = now.mono + kSecond;
}

void Coordinator::Rest() {
  // What a batch finished stays in memory until it is on disk.
  if (++turns_ % parts_.check_every == 0 && !process_->body->held())
    if (std::string broken = BrokenInvariant(process_->body->state()); !broken.empty())
      parts_.oracle->Fail("broken invariant: " + broken);
  Millis mono = process_->body->held() ? process_->next_retry : process_->body->NextDeadline();
  if (mono == kNever) return;
  Millis at = mono - mono_offset_;
  if (at > parts_.timeline->now()) idle_turns_ = 0;
  WakeAt(std::max(at, parts_.timeline->now() + 1));
}

LoopOutputs Coordinator::Outputs() {
  return {.commit = [this](const Batch& batch, const ClusterState& state) { return Commit(batch, state); },
          .publish =
              [this](const Batch& batch, const ClusterState& state) {
                if (!batch.persistent()) Observe(batch, state);
              },
          .send = [this](Orders orders, const ClusterState& state) { SendOrders(std::move(orders), state); },
          .end = [this](uint64_t session) { process_->edge->End(session); },
          .fatal = [this](const Status&) { process_->dead = true; }};
}

Status Coordinator::Commit(const Batch& batch, const ClusterState& state) {
  bool left_out = planted_.OnCommit(batch);
  Status status = left_out ? OkStatus() : disk.Commit(batch, state);
  if (status.code() == Code::kResourceExhausted) return status;
  if (status.ok()) {
    Observe(batch, state);
    if (!crash_armed_ || !crash_after_) return status;
    expected_ = {.texts = {Comparable(state, parts_.policy)}};
    return {Code::kInternal, "the machine died after the commit"};
  }
  if (!crash_armed_) parts_.oracle->Fail("a commit failed: " + status.message());
  expected_ = {.texts = {before_, Comparable(state, parts_.policy)},
               .batch = std::make_unique<Batch>(batch),
               .state = state,
               .at = decided_at_};
  return status;
}

void Coordinator::Observe(const Batch& batch, const ClusterState& state) {
  parts_.oracle->OnTurn(batch, state, decided_at_);
}

void Coordinator::SendOrders(Orders orders, const ClusterState& state) {
  planted_.OnOrders(&orders, process_->edge->AnotherSession(orders.session));
  process_->edge->Send(std::move(orders), state);
}

}  // namespace gt::sim
