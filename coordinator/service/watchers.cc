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

void Watchers::Publish(const Batch& batch, const ClusterState& state) {
  if (by_job_.empty()) return;
  std::set<JobId> changed = batch.touched_jobs;
  for (const TaskId& task : batch.touched_tasks) changed.insert(task.job);
  for (const Uid& uid : batch.touched_attempts)
    if (const Attempt* attempt = state.FindAttempt(uid)) changed.insert(attempt->task.job);
  for (const Event& event : batch.events)
    if (const auto* progress = std::get_if<ProgressMade>(&event))
      if (const Attempt* attempt = state.FindAttempt(progress->uid)) changed.insert(attempt->task.job);
  if (!batch.history.empty() || !changed.empty()) changed.insert(JobId{0});
  for (JobId job : changed) {
    auto it = by_job_.find(job);
    if (it == by_job_.end()) continue;
    Tell(&it->second, state);
    if (it->second.empty()) by_job_.erase(it);
  }
}

}  // namespace gt
