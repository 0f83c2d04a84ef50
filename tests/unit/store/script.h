// Plays a coordinator's life by hand, event by event, through the real Apply, and commits it: each step in one line.
#pragma once
#include <string>
#include <vector>

#include "common/base/rng.h"
#include "coordinator/core/apply.h"
#include "coordinator/core/engine.h"
#include "coordinator/store/store.h"

namespace gt {

class Script {
 public:
  ClusterState state;
  Batch batch;
  Millis wall = 1'700'000'000'000;

  NodeId AddNode(const std::string& name, int gpus = 2);
  JobId Submit(const std::string& name, uint32_t tasks = 1, int nodes = 1, const std::string& owner = "ada");
  Uid Place(TaskId task, const std::vector<NodeId>& nodes, std::vector<std::string> gpus = {});
  void Run(Uid uid);
  void Reform(Uid uid, NodeId to);                            // formed; then its last member's part moves there
  void Fail(Uid uid, Cause cause);                            // the root failure
  void Gone(Uid uid, NodeId node);
  void End(Uid uid, Cause cause, bool all_gone = true);       // the attempt, not its task
  void Retry(TaskId task);
  void Finish(TaskId task, TaskState final_state);            // and the job with its last one
  void Cancel(JobId job);                                     // all that was never placed
  void Note(JobId job, const std::string& kind, const std::string& text);
  // A task's whole life in one batch.
  void WholeLife(TaskId task, NodeId node, TaskState final_state = TaskState::kSucceeded);

  Status Commit(Store* store);  // and starts a new batch
  void Forget();                // what Engine::Committed does

 private:
  void Do(Event event);
  void FinishJob(JobId job);
  Rng rng_{7};
};

}  // namespace gt
