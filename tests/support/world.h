// A coordinator's core with hand-played nodes: a test builds a world in a line or two, drives it, and every step checks the
// invariants. Nothing here reads a clock or starts a thread.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "coordinator/core/apply.h"
#include "coordinator/core/engine.h"
#include "coordinator/core/explain.h"

namespace gt::test {

constexpr AttemptPhase kStarting = AttemptPhase::kStarting, kRunning = AttemptPhase::kRunning;

// A job of one task on one node with one CPU; change what the test is about.
inline Job AJob() {
  Job job;
  job.shape = {.nodes = 1, .cpus = 1};
  return job;
}
inline Job AGang(int nodes) {
  Job job = AJob();
  job.shape.nodes = nodes;
  return job;
}
inline Job AnArray(uint32_t first, uint32_t last) {
  Job job = AJob();
  job.array = true;
  job.range = {first, last};
  return job;
}

ExitReport Exited(int code);            // rank 0 exited so; 0: finished
ExitReport Killed(int signal);

class World {
 public:
  explicit World(Policy policy = {});

  // --- people -------------------------------------------------------------------------------------------------------
  JobId Submit(Job job);
  SubmitReply TrySubmit(Job job);
  CancelReply::Outcome Cancel(JobId job, std::optional<uint32_t> index = std::nullopt);

  // --- nodes --------------------------------------------------------------------------------------------------------
  // Connects and sends a complete snapshot that names `held` as running.
  NodeId Join(const std::string& name, int cpus = 8, std::vector<Gpu> gpus = {}, std::vector<Uid> held = {}, const std::string& boot = "boot-1");
  HelloReply Hello(const std::string& name, const Inventory& inventory, const std::string& boot = "boot-1");
  void Snapshot(const std::string& name, std::vector<AttemptReport> attempts);
  void Disconnect(const std::string& name);
  void Report(const std::string& name, AttemptReport report);
  void ReportPhase(const std::string& name, Uid uid, AttemptPhase phase);
  void ReportExit(const std::string& name, Uid uid, ExitReport exit);
  // All that the node was last told, and clears it; the next message may follow.
  Orders TakeOrders(const std::string& name);
  void Beat(const std::string& name);

  // --- time ---------------------------------------------------------------------------------------------------------
  void Advance(Millis by);                 // one turn at the end, nodes in `beating` heard
  void AdvanceBeating(Millis by, std::vector<std::string> beating);  // in steps of a beat
  Batch Turn(std::vector<Command> commands = {});

  // --- looking ------------------------------------------------------------------------------------------------------
  Uid AttemptOf(JobId job, uint32_t index = 0) const;  // of an ACTIVE task
  const Attempt& TheAttempt(JobId job, uint32_t index = 0) const;
  const Node& TheNode(const std::string& name) const;
  std::string Where(JobId job, uint32_t index = 0) const;  // "a b"; empty when not placed
  TaskState StateOf(JobId job) const;      // finished ones as they ended
  const Job& Finished(JobId job) const;
  std::string Why(JobId job) const { return Reason(engine.state(), policy, job, now); }
  bool HistoryHas(const std::string& kind) const;
  // A new process on what this one would have stored.
  void Restart();

  Policy policy;
  Now now{.mono = 1000000, .wall = 1700000000000};
  Engine engine;
  std::vector<HistoryLine> history;
  std::map<JobId, Job> finished;

 private:
  Engine MakeEngine(ClusterState state);
  uint64_t next_uid_ = 1, next_session_ = 1, next_seq_ = 1, next_key_ = 1;
  std::map<std::string, uint64_t> sessions_;
  std::map<std::string, Millis> beats_;
};

}  // namespace gt::test
