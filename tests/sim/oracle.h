// What must be true whatever happens, judged from outside: by what the launchers really run, by what was committed, and
// by what clients were told. The first broken rule ends the run.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coordinator/core/engine.h"
#include "tests/sim/node.h"

namespace gt::sim {

class Disk;

class Oracle {
 public:
  Oracle(Timeline* timeline, const Plan* plan, const Policy* policy, bool verbose)
      : timeline_(timeline), plan_(plan), policy_(policy), verbose_(verbose), heard_(plan->nodes.size(), 0) {}
  void SetNodes(const std::vector<std::unique_ptr<Node>>* nodes) { nodes_ = nodes; }

  void Fail(const std::string& what);
  bool failed() const { return !failure_.empty(); }
  const std::string& failure() const { return failure_; }
  template <typename Text>
  void Trace(Text text) {
    if (verbose_) Print(text());
  }

  // --- from the nodes
  void OnTaken(size_t node, const worker::LauncherStart& start);  // into the journal
  void OnExec(size_t node, const worker::LauncherStart& start);   // its ranks start
  void OnDropped(const std::string& node, const std::string& why);

  // --- from the coordinator
  // `batch` is on disk (or changes nothing there); what it finished is still in `state`. Decided at `at`, simulated
  // time.
  void OnTurn(const Batch& batch, const ClusterState& state, Millis at);
  void OnHeard(size_t node) { heard_[node] = timeline_->now(); }
  void OnStarted(const ClusterState& state, Disk* disk);

  // --- from the clients
  void OnSubmitted(const std::string& key, JobId job);
  void OnCancelled(JobId job) { cancelled_.insert(job); }
  void OnDrained(const std::string& node, std::optional<bool> draining) {
    drained_[node] = draining;
  }  // nullopt: not known

  // At the end of a run: "" or what is still to come.
  std::string Unfinished(const ClusterState& state) const;
  void CheckFinals(Disk* disk);

  size_t attempts() const { return placed_.size(); }
  size_t jobs() const { return job_final_.size(); }

 private:
  struct Placed {
    TaskId task;
    uint32_t number = 0;
    int32_t cpus = 0;
    std::map<size_t, std::vector<std::string>> members;  // node -> GPUs
    std::set<size_t> gone, lost;                         // as the coordinator knows; lost: without a word from the node
    std::set<size_t> taken;
    bool ended = false;
    uint32_t generation = 1, formed = 0;
  };
  void Print(const std::string& text) const;
  void Judge(const JobSubmitted& e, const ClusterState& state, Millis at);
  void Judge(const AttemptPlaced& e, const ClusterState& state, Millis at);
  void Judge(const ReformStarted& e, const ClusterState& state, Millis at);
  void Judge(const GangFormed& e, const ClusterState& state, Millis at);
  void Judge(const MemberGone& e, const ClusterState& state, Millis at);
  void Judge(const AttemptEnded& e, const ClusterState& state, Millis at);
  void Judge(const TaskFinished& e, const ClusterState& state, Millis at);
  void Judge(const JobFinished& e, const ClusterState& state, Millis at);
  void Judge(const CheckpointAccepted& e, const ClusterState& state, Millis at);
  void Judge(const NodeLost& e, const ClusterState& state, Millis at);
  template <typename Other>
  void Judge(const Other&, const ClusterState&, Millis) {}
  std::optional<size_t> IndexOf(const ClusterState& state, NodeId id) const;
  bool WillLive(size_t node, const Uid& uid) const { return (*nodes_)[node]->launcher.WillLive(uid); }
  void CheckShared(size_t node, const Uid& uid, const Placed& placed);
  std::string Tag(const Uid& uid) const;

  Timeline* const timeline_;
  const Plan* const plan_;
  const Policy* const policy_;
  const bool verbose_;
  const std::vector<std::unique_ptr<Node>>* nodes_ = nullptr;
  std::string failure_;

  std::map<Uid, Placed> placed_;
  std::map<TaskId, Uid> newest_;                // attempt of the task
  std::map<size_t, std::vector<Uid>> running_;  // by node, as far as they live
  std::map<TaskId, std::string> checkpoints_;
  std::map<TaskId, TaskState> task_final_;
  std::map<JobId, TaskState> job_final_;
  std::map<std::string, JobId> submitted_, acknowledged_;
  std::set<JobId> cancelled_;
  std::map<std::string, std::optional<bool>> drained_;
  std::set<size_t> lost_now_;  // by the batch being judged
  Millis judged_mono_ = 0;
  std::vector<Millis> heard_;
  Millis started_at_ = 0;
};

}  // namespace gt::sim
