#include "tests/support/world.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "coordinator/core/load.h"

namespace gt::test {

ExitReport Exited(int code) {
  ExitReport exit;
  exit.why = code == 0 ? ExitReport::Why::kFinished : ExitReport::Why::kRankFailed;
  exit.first_failed = code == 0 ? -1 : 0;
  exit.code = exit.exit_code = code;
  return exit;
}

ExitReport Killed(int signal) {
  ExitReport exit = Exited(1);
  exit.code = 0;
  exit.signal = signal;
  exit.exit_code = 128 + signal;
  return exit;
}

World::World(Policy p) : policy(p), engine(MakeEngine([] { ClusterState s; s.cluster_id = "test"; s.epoch = {1}; return s; }())) {}

Engine World::MakeEngine(ClusterState state) {
  Derive(&state, policy, now);
  return Engine(std::move(state), policy, [this] { return Uid{7, next_uid_++}; }, {});
}

Batch World::Turn(std::vector<Command> commands) {
  std::vector<Heard> heard;
  for (auto& [name, at] : beats_) heard.push_back({sessions_.at(name), at});
  beats_.clear();
  Batch batch = engine.Run(heard, commands, now);
  history.insert(history.end(), batch.history.begin(), batch.history.end());
  for (JobId id : batch.touched_jobs)
    if (const Job* job = engine.state().FindJob(id); job != nullptr && job->ended_wall != 0) finished[id] = *job;
  engine.Committed(batch);
  EXPECT_EQ(BrokenInvariant(engine.state()), "");
  return batch;
}

SubmitReply World::TrySubmit(Job job) {
  if (job.client_key.empty()) job.client_key = "key-" + std::to_string(next_key_++);
  Batch batch = Turn({SubmitJob{std::move(job)}});
  return std::get<SubmitReply>(batch.replies.at(0));
}

JobId World::Submit(Job job) {
  SubmitReply reply = TrySubmit(std::move(job));
  EXPECT_TRUE(reply.problems.empty()) << reply.problems.front();
  return reply.job;
}

CancelReply::Outcome World::Cancel(JobId job, std::optional<uint32_t> index) {
  Batch batch = Turn({gt::Cancel{.targets = {{job, index}}, .actor = "test"}});
  return std::get<CancelReply>(batch.replies.at(0)).outcomes.at(0);
}

HelloReply World::Hello(const std::string& name, const Inventory& inventory, const std::string& boot) {
  uint64_t session = next_session_++;
  Uid uid{1, std::hash<std::string>()(name) | 1};
  Batch batch = Turn({NodeHello{.session = session, .name = name, .uid = uid, .boot_id = boot, .version = "test", .cluster_id = "test", .inventory = inventory}});
  HelloReply reply = std::get<HelloReply>(batch.replies.at(0));
  if (reply.refused.empty()) sessions_[name] = session;
  return reply;
}

void World::Snapshot(const std::string& name, std::vector<AttemptReport> attempts) {
  Turn({NodeReport{.session = sessions_.at(name), .seq = next_seq_++, .snapshot_begin = true, .snapshot_end = true, .attempts = std::move(attempts)}});
}

NodeId World::Join(const std::string& name, int cpus, std::vector<Gpu> gpus, std::vector<Uid> held, const std::string& boot) {
  HelloReply reply = Hello(name, {.cpus = cpus, .memory = 64ll << 30, .gpus = std::move(gpus), .address = "10.0.0.1"}, boot);
  EXPECT_EQ(reply.refused, "");
  std::vector<AttemptReport> attempts;
  for (const Uid& uid : held) attempts.push_back({.uid = uid, .generation = {1}, .phase = AttemptPhase::kRunning});
  Snapshot(name, std::move(attempts));
  return reply.node;
}

void World::Disconnect(const std::string& name) { Turn({NodeGone{sessions_.at(name)}}); }

void World::Report(const std::string& name, AttemptReport report) {
  if (report.generation.value == 0) report.generation = {1};
  Turn({NodeReport{.session = sessions_.at(name), .seq = next_seq_++, .attempts = {std::move(report)}}});
}
void World::ReportPhase(const std::string& name, Uid uid, AttemptPhase phase) { Report(name, {.uid = uid, .phase = phase}); }
void World::ReportExit(const std::string& name, Uid uid, ExitReport exit) {
  Report(name, {.uid = uid, .phase = AttemptPhase::kEnded, .exit = std::move(exit)});
}

Orders World::TakeOrders(const std::string& name) {
  Orders all;
  uint64_t session = sessions_.at(name);
  while (std::optional<Orders> next = engine.sessions().NextOrders(session, engine.state())) {
    all.jobs.insert(all.jobs.end(), next->jobs.begin(), next->jobs.end());
    all.attempts.insert(all.attempts.end(), next->attempts.begin(), next->attempts.end());
    all.forget.insert(all.forget.end(), next->forget.begin(), next->forget.end());
    if (next->seq != 0) engine.sessions().OnReport(session, 0, next->seq);
  }
  return all;
}

void World::Beat(const std::string& name) { beats_[name] = now.mono; }

void World::Advance(Millis by) {
  now.mono += by;
  now.wall += by;
  Turn();
}

void World::AdvanceBeating(Millis by, std::vector<std::string> beating) {
  for (Millis end = now.mono + by; now.mono < end;) {
    Millis step = std::min(policy.beat, end - now.mono);
    now.mono += step;
    now.wall += step;
    for (const std::string& name : beating) Beat(name);
    Turn();
  }
}

Uid World::AttemptOf(JobId job, uint32_t index) const {
  const Task* task = engine.state().FindTask({job, index});
  return task == nullptr ? Uid{} : task->attempt;
}
const Attempt& World::TheAttempt(JobId job, uint32_t index) const { return *engine.state().FindAttempt(AttemptOf(job, index)); }
const Node& World::TheNode(const std::string& name) const { return *engine.state().FindNode(engine.state().node_names.at(name)); }

std::string World::Where(JobId job, uint32_t index) const {
  const Attempt* attempt = engine.state().FindAttempt(AttemptOf(job, index));
  std::string where;
  if (attempt == nullptr) return where;
  for (const Member& member : attempt->members) where += (where.empty() ? "" : " ") + engine.state().FindNode(member.node)->name;
  return where;
}

TaskState World::StateOf(JobId job) const {
  const Job* live = engine.state().FindJob(job);
  return JobState(live != nullptr ? *live : finished.at(job));
}
const Job& World::Finished(JobId job) const { return finished.at(job); }

bool World::HistoryHas(const std::string& kind) const {
  return std::any_of(history.begin(), history.end(), [&](const HistoryLine& line) { return line.kind == kind; });
}

void World::Restart() {
  ClusterState state = engine.state();
  state.epoch.value++;
  sessions_.clear();
  beats_.clear();
  engine = MakeEngine(std::move(state));
  EXPECT_EQ(BrokenInvariant(engine.state()), "");
}

}  // namespace gt::test
