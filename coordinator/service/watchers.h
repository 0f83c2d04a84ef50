// Who wants to know when a job changes. Everything in here runs on the loop's thread, after the commit; watchers take what
// they need and wake their own threads.
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "coordinator/core/engine.h"

namespace gt {

class Watcher {
 public:
  virtual ~Watcher() = default;
  // The job changed, or made progress. What it finished is still in the state. Must not block.
  virtual void Changed(const ClusterState& state) = 0;
};

class Watchers {
 public:
  // JobId 0: of every job. A watcher that is no more is forgotten.
  void Add(JobId job, std::weak_ptr<Watcher> watcher);
  void Publish(const Batch& batch, const ClusterState& state);

 private:
  using List = std::vector<std::weak_ptr<Watcher>>;
  std::set<JobId> Changed(const Batch& batch, const ClusterState& state) const;
  static void Tell(List* list, const ClusterState& state);
  std::unordered_map<JobId, List> by_job_;
};

}  // namespace gt
