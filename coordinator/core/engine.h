// The body of the loop, pure: the same code runs under the coordinator's thread and in the simulator.
// One batch: what was heard, what expired, the commands in order, placement. The caller then commits `events` with the rows
// that they touched, and only after that hands out `replies`, wakes watchers and sends orders.
#pragma once
#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "coordinator/core/command.h"
#include "coordinator/core/event.h"
#include "coordinator/core/history.h"
#include "coordinator/core/policy.h"
#include "coordinator/core/sessions.h"

namespace gt {

struct Heard { uint64_t session = 0; Millis at = 0; };  // stamped by the receiving thread, monotonic

// A job that was finished before this process loaded, found by its client key (a retry after a lost reply).
using FinishedKeyLookup = std::function<std::optional<JobId>(const std::string& client_key)>;

// What a batch has touched, for watchers and rows: noted as often as it happens, then sealed, which sorts and keeps one each.
template <typename Key>
class Touched {
 public:
  void insert(const Key& key) {
    if (keys_.empty() || !(keys_.back() == key)) keys_.push_back(key);
  }
  void Seal() {
    std::sort(keys_.begin(), keys_.end());
    keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
  }
  bool contains(const Key& key) const { return std::binary_search(keys_.begin(), keys_.end(), key); }  // once sealed
  auto begin() const { return keys_.begin(); }
  auto end() const { return keys_.end(); }
  bool empty() const { return keys_.empty(); }
  size_t size() const { return keys_.size(); }

 private:
  std::vector<Key> keys_;
};

struct Batch {
  Now now;
  std::vector<Event> events;
  std::vector<HistoryLine> history;     // of the events that people care about, in order
  std::vector<Reply> replies;           // one a command, in order
  Touched<JobId> touched_jobs;
  Touched<TaskId> touched_tasks;
  Touched<Uid> touched_attempts;
  Touched<NodeId> touched_nodes;
  bool counters_touched = false;        // next_job, next_node, epoch
  bool more = false;                    // bounded work is left: run again at once
  void Seal() { touched_jobs.Seal(), touched_tasks.Seal(), touched_attempts.Seal(), touched_nodes.Seal(); }
  bool persistent() const {
    return counters_touched || !touched_jobs.empty() || !touched_tasks.empty() || !touched_attempts.empty() || !touched_nodes.empty();
  }
};

class Engine {
 public:
  // `state` as loaded (Derive in load.h prepared it); new_uid draws the random names of attempts.
  Engine(ClusterState state, Policy policy, std::function<Uid()> new_uid, FinishedKeyLookup finished_key);

  // Drafts of jobs are moved out of the commands.
  Batch Run(std::span<const Heard> heard, std::span<Command> commands, Now now);
  // After the batch is on disk: finished things leave memory. Must follow each Run before the next.
  void Committed(const Batch& batch);

  // Earliest monotonic instant at which Run has something to do without a command; kNever: none.
  Millis NextDeadline() const;

  const ClusterState& state() const { return state_; }
  Sessions& sessions() { return sessions_; }
  const Policy& policy() const { return policy_; }

 private:
  void Emit(Batch* batch, Event event);
  void HearNodes(std::span<const Heard> heard, Now now);
  ClusterState state_;
  Policy policy_;
  std::function<Uid()> new_uid_;
  FinishedKeyLookup finished_key_;
  Sessions sessions_;
  Millis last_run_ = 0;
  uint64_t placed_version_ = 0;  // ClusterState::placement_version at the last complete placement
};

}  // namespace gt
