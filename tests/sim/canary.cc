#include "tests/sim/canary.h"

namespace gt::sim {

const char* Name(Canary canary) {
  static constexpr const char* kNames[kCanaries] = {"none",       "no-fence",    "reply-before-commit",
                                                    "free-early", "second-node", "loses-rows"};
  return kNames[static_cast<size_t>(canary)];
}

void Planted::OnItem(LoopItem* item, const ClusterState& state) const {
  if (canary_ != Canary::kNoFence && canary_ != Canary::kFreeEarly) return;
  for (Command& command : item->commands)
    if (auto* report = std::get_if<NodeReport>(&command)) Rewrite(report, state);
}

void Planted::Rewrite(NodeReport* report, const ClusterState& state) const {
  for (AttemptReport& one : report->attempts) {
    if (canary_ == Canary::kFreeEarly && one.phase == AttemptPhase::kStopping) {
      one.phase = AttemptPhase::kEnded;
      one.exit = ExitReport{.why = ExitReport::Why::kStopped};
    }
    const Attempt* attempt = state.FindAttempt(one.uid);
    auto task = tasks_.find(one.uid);
    if (canary_ != Canary::kNoFence || task == tasks_.end() ||
        (attempt != nullptr && attempt->phase != AttemptPhase::kEnded))
      continue;
    const Task* current = state.FindTask(task->second);
    if (current == nullptr || current->attempt.empty()) continue;
    one.uid = current->attempt;
    one.generation = {1};
  }
}

void Planted::OnTurn(std::vector<LoopItem>* items) {
  early_.clear();
  if (canary_ != Canary::kReplyBeforeCommit) return;
  size_t first = 0;
  for (LoopItem& item : *items) {
    bool submit = std::holds_alternative<SubmitJob>(item.commands.at(0));
    if (submit) early_.push_back({std::move(item.done), first, item.commands.size()});
    if (submit) item.done = nullptr;
    first += item.commands.size();
  }
}

bool Planted::OnCommit(const Batch& batch) {
  for (Early& early : early_)
    early.done(OkStatus(), std::span<const Reply>(batch.replies).subspan(early.first, early.count));
  early_.clear();
  if (canary_ == Canary::kNoFence)
    for (const Event& event : batch.events)
      if (const auto* placed = std::get_if<AttemptPlaced>(&event)) tasks_[placed->attempt.uid] = placed->attempt.task;
  bool only_attempts = batch.touched_jobs.empty() && batch.touched_tasks.empty() && batch.touched_nodes.empty();
  return canary_ == Canary::kLosesRows && only_attempts;
}

void Planted::OnOrders(Orders* orders, uint64_t another) {
  if (canary_ != Canary::kSecondNode || orders->seq == 0) return;
  for (const auto& [session, order] : std::exchange(doubled_, {})) {
    if (session != orders->session) {
      doubled_.emplace_back(session, order);
      continue;
    }
    orders->jobs.push_back(order.job);
    orders->attempts.push_back(order);
  }
  if (another == 0) return;
  for (const AttemptOrder& order : orders->attempts)
    if (!order.stop) doubled_.emplace_back(another, order);
}

}  // namespace gt::sim
