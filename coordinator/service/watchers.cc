#include "coordinator/service/watchers.h"

namespace gt {

void Watchers::Add(JobId job, std::weak_ptr<Watcher> watcher) {
  List& list = by_job_[job];
  if (list.size() >= 16) std::erase_if(list, [](const std::weak_ptr<Watcher>& w) { return w.expired(); });
  list.push_back(std::move(watcher));
}

void Watchers::Tell(List* list, const ClusterState& state) {
  std::erase_if(*list, [&](const std::weak_ptr<Watcher>& weak) {
    std::shared_ptr<Watcher> watcher = weak.lock();
    if (watcher) watcher->Changed(state);
    return !watcher;
  });
}

// Looks no further once every job that somebody watches has changed.
std::set<JobId> Watchers::Changed(const Batch& batch, const ClusterState& state) const {
  std::set<JobId> changed;
  auto all = [&](JobId job) {
    if (by_job_.contains(job)) changed.insert(job);
    return changed.size() == by_job_.size();
  };
  bool any = !batch.history.empty() || !batch.touched_jobs.empty() || !batch.touched_tasks.empty();
  if (any && all(JobId{0})) return changed;
  for (JobId job : batch.touched_jobs)
    if (all(job)) return changed;
  for (const TaskId& task : batch.touched_tasks)
    if (all(task.job)) return changed;
  for (const Uid& uid : batch.touched_attempts)
    if (const Attempt* attempt = state.FindAttempt(uid); attempt != nullptr && all(attempt->task.job)) return changed;
  for (const Event& event : batch.events)
    if (const auto* progress = std::get_if<ProgressMade>(&event))
      if (const Attempt* attempt = state.FindAttempt(progress->uid); attempt != nullptr && all(attempt->task.job)) return changed;
  return changed;
}

void Watchers::Publish(const Batch& batch, const ClusterState& state) {
  if (by_job_.empty()) return;
  for (JobId job : Changed(batch, state)) {
    auto it = by_job_.find(job);
    Tell(&it->second, state);
    if (it->second.empty()) by_job_.erase(it);
  }
}

}  // namespace gt
