#include "coordinator/core/engine.h"

#include <algorithm>

#include "coordinator/core/apply.h"
#include "coordinator/core/decide.h"
#include "coordinator/core/place/place.h"
#include "coordinator/core/touched.h"

namespace gt {

Engine::Engine(ClusterState state, Policy policy, std::function<Uid()> new_uid, FinishedKeyLookup finished_key)
    : state_(std::move(state)), policy_(policy), new_uid_(std::move(new_uid)), finished_key_(std::move(finished_key)) {
  last_run_ = state_.listening_since;
}

void Engine::Emit(Batch* batch, Event event) {
  Apply(&state_, event);
  sessions_.OnEvent(event, state_);
  Touch(event, state_, batch);
  if (std::optional<HistoryLine> line = Describe(event, state_)) batch->history.push_back(std::move(*line));
  batch->events.push_back(std::move(event));
}

// The coordinator never counts its own absence against a node: a gap between two turns (a stalled disk, a stopped process, a
// suspended machine) shifts every lease by itself.
void Engine::HearNodes(std::span<const Heard> heard, Now now) {
  Millis gap = now.mono - last_run_ - 2 * policy_.beat;
  last_run_ = now.mono;
  if (gap > 0) {
    for (auto& [id, node] : state_.nodes) node.last_heard = std::min(now.mono, node.last_heard + gap);
  }
  for (const Heard& one : heard) {
    std::optional<NodeId> id = sessions_.NodeOf(one.session);
    if (!id) continue;
    Node& node = state_.nodes.at(*id);
    Millis at = std::min(one.at, now.mono);
    if (at <= node.last_heard) continue;
    if (now.mono - node.last_heard >= policy_.suspect_after()) state_.placement_version++;  // it was passed over
    node.last_heard = at;
    node.last_heard_wall = now.wall - (now.mono - at);
  }
}

Batch Engine::Run(std::span<const Heard> heard, std::span<Command> commands, Now now) {
  Batch batch{.now = now};
  HearNodes(heard, now);
  Turn turn{.state = state_, .policy = policy_, .now = now, .emit = [&](Event event) { Emit(&batch, std::move(event)); },
            .new_uid = new_uid_, .sessions = &sessions_, .finished_key = &finished_key_};
  Expire(turn);
  struct Dispatch {
    Turn& turn;
    Reply operator()(SubmitJob& c) { return DecideSubmit(turn, c); }
    Reply operator()(const Cancel& c) { return DecideCancel(turn, c); }
    Reply operator()(const SetDrain& c) { return DecideDrain(turn, c); }
    Reply operator()(const NodeHello& c) { return DecideHello(turn, c); }
    Reply operator()(const NodeGone& c) { DecideGone(turn, c); return {}; }
    Reply operator()(const NodeReport& c) { DecideReport(turn, c); return {}; }
  };
  for (Command& command : commands) batch.replies.push_back(std::visit(Dispatch{turn}, command));
  if (placed_version_ != state_.placement_version) {
    // Read before placing: what placement itself frees or readies is looked at again.
    uint64_t version = state_.placement_version;
    bool waits = WaitsForNodes(state_, policy_, now) != 0;
    if (!waits && Place(turn)) batch.more = true;
    if (!waits && !batch.more) placed_version_ = version;
  }
  if (!state_.sweeping.empty() || (!state_.timers.empty() && state_.timers.begin()->at <= now.mono)) batch.more = true;
  batch.Seal();
  return batch;
}

void Engine::Committed(const Batch& batch) {
  for (const Uid& uid : batch.touched_attempts) {
    auto attempt = state_.attempts.find(uid);
    if (attempt != state_.attempts.end() && attempt->second.phase == AttemptPhase::kEnded && attempt->second.AllGone())
      state_.attempts.erase(attempt);
  }
  for (const TaskId& id : batch.touched_tasks) {
    auto task = state_.tasks.find(id);
    if (task != state_.tasks.end() && IsFinal(task->second.state)) state_.tasks.erase(task);
  }
  for (JobId id : batch.touched_jobs) {
    auto job = state_.jobs.find(id);
    if (job == state_.jobs.end() || job->second.ended_wall == 0) continue;
    state_.keys.erase(job->second.client_key);
    state_.jobs.erase(job);
  }
}

Millis Engine::NextDeadline() const {
  Millis next = state_.timers.empty() ? kNever : state_.timers.begin()->at;
  // While nodes have leases the loop turns at least once a beat: that is how it notices its own gaps.
  if (!state_.nodes.empty()) next = std::min(next, last_run_ + policy_.beat);
  if (placed_version_ != state_.placement_version && !state_.ready.empty()) {
    Millis wait = WaitsForNodes(state_, policy_, {.mono = last_run_});
    next = std::min(next, wait == 0 ? last_run_ : wait);
  }
  return next;
}

}  // namespace gt
