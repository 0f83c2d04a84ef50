#include "coordinator/core/explain.h"

#include <algorithm>

#include "common/base/units.h"
#include "coordinator/core/decide.h"
#include "coordinator/core/place/place.h"

namespace gt {
namespace {

constexpr size_t kMaxDetails = 20;
constexpr uint32_t kMaxAhead = 100000;

std::string In(Millis at, Now now) { return "in " + HumanDuration(std::max<Millis>(kSecond, at - now.mono)); }

std::string NodeNames(const ClusterState& state, const Attempt& attempt, auto&& wanted) {
  std::string names;
  for (const Member& member : attempt.members) {
    if (!wanted(member)) continue;
    const Node* node = state.FindNode(member.node);
    names += (names.empty() ? "" : ", ") + (node == nullptr ? "?" : node->name);
  }
  return names;
}

std::string AttemptLine(const ClusterState& state, const Policy& policy, const Attempt& attempt, Now now) {
  auto all = [](const Member&) { return true; };
  auto not_gone = [](const Member& m) { return !m.gone; };
  auto not_running = [](const Member& m) { return m.phase < AttemptPhase::kRunning; };
  switch (attempt.phase) {
    case AttemptPhase::kPlaced:
    case AttemptPhase::kStarting: {
      std::string where = NodeNames(state, attempt, not_running);
      bool forming = attempt.members.size() > 1 && attempt.rendezvous.state == RendezvousState::kForming;
      return (forming ? "starting: rank 0's address is awaited from " + NodeNames(state, attempt, all) : "starting on " + where) +
             ", given up " + In(attempt.deadline, now);
    }
    case AttemptPhase::kRunning: {
      if (attempt.reform.underway()) {
        auto awaited = [&](const Member& m) { return !m.formation || m.formation->joined != attempt.rendezvous.generation; };
        return "re-forming as generation " + std::to_string(attempt.rendezvous.generation.value) + " since " + attempt.reform.why +
               "; awaited: " + NodeNames(state, attempt, awaited) + "; given up " + In(attempt.deadline, now);
      }
      for (const Member& member : attempt.members) {
        const Node* node = state.FindNode(member.node);
        if (member.gone || node == nullptr || !IsSuspect(*node, policy, now)) continue;
        return "running; node " + node->name + " has been silent for " + HumanDuration(now.mono - node->last_heard) + ", lost at " +
               HumanDuration(policy.node_lost_after);
      }
      return "running on " + NodeNames(state, attempt, all);
    }
    case AttemptPhase::kStopping:
      return "stopping (" + std::string(Name(attempt.stop_cause)) + "): processes on " + NodeNames(state, attempt, not_gone) +
             " are still to end, given up " + In(attempt.stop_deadline, now);
    case AttemptPhase::kEnded: break;
  }
  return "ending";
}

// The task of the job that people ask about: one that lives, else the next of the range.
const Task* FirstLive(const ClusterState& state, const Job& job) {
  return job.live_tasks.empty() ? nullptr : state.FindTask({job.id, *job.live_tasks.begin()});
}
const Task* FirstWaiting(const ClusterState& state, const Job& job) {
  for (uint32_t index : job.live_tasks) {
    const Task* task = state.FindTask({job.id, index});
    if (task->state == TaskState::kQueued) return task;
  }
  return nullptr;
}

struct Fits { size_t now = 0, ever = 0; };
Fits CountFits(const ClusterState& state, const Shape& shape, Millis heard_since) {
  Fits fits;
  for (const auto& [id, node] : state.nodes) {
    Fit fit = CheckFit(node, shape, {}, heard_since);
    fits.now += fit == Fit::kYes;
    fits.ever += CouldEver(fit);
  }
  return fits;
}

// Asked at every submit: looks no further than it must.
bool CouldEverFit(const ClusterState& state, const Shape& shape) {
  int32_t missing = shape.nodes;
  for (auto node = state.nodes.begin(); missing > 0 && node != state.nodes.end(); ++node)
    missing -= CouldEver(CheckFit(node->second, shape, {}, 0));
  return missing <= 0;
}

std::string WaitLine(const ClusterState& state, const Policy& policy, const Job& job, Now now) {
  if (state.nodes.empty()) return "no worker has joined the cluster yet";
  if (Millis until = WaitsForNodes(state, policy, now)) return "the coordinator has just started and waits for its nodes, " + In(until, now);
  Fits fits = CountFits(state, job.shape, HeardSince(policy, now));
  std::string needs = "needs " + ShapeText(job.shape);
  if (fits.ever < static_cast<size_t>(job.shape.nodes)) return needs + "; only " + std::to_string(fits.ever) + " large enough in the cluster";
  if (fits.now < static_cast<size_t>(job.shape.nodes)) return needs + "; " + std::to_string(fits.now) + " free now";
  return needs + "; that is free, but tasks that come first need it";
}

std::vector<std::string> Details(const ClusterState& state, const Shape& shape, Millis heard_since) {
  std::vector<std::pair<Fit, std::string>> rows;
  for (const auto& [id, node] : state.nodes) {
    Fit fit = CheckFit(node, shape, {}, heard_since);
    rows.push_back({fit, FitText(node, shape, fit)});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> details;
  for (auto& [fit, text] : rows) {
    if (details.size() == kMaxDetails) {
      details.push_back("and " + std::to_string(rows.size() - kMaxDetails) + " more nodes");
      break;
    }
    details.push_back(std::move(text));
  }
  return details;
}

uint32_t CountAhead(const ClusterState& state, const Job& job) {
  uint64_t ahead = 0;
  for (const auto& [priority, buckets] : state.ready) {
    if (priority < job.priority) break;
    for (const auto& [shape, bucket] : buckets) {
      for (const ReadyKey& key : bucket.entries) {
        if (priority == job.priority && key.job >= job.id) break;
        const Job* other = state.FindJob(key.job);
        ahead += key.index == other->next_index ? other->range.last - other->next_index + 1 : 1;
        if (ahead >= kMaxAhead) return kMaxAhead;
      }
    }
  }
  return static_cast<uint32_t>(ahead);
}

}  // namespace

namespace {

std::string NextTryLine(const Task& task, Now now) {
  return "attempt " + std::to_string(task.attempts) + " ended with " + std::string(Name(task.cause)) + "; the next starts " + In(task.not_before, now);
}

// `task`: nullptr when it was never placed.
std::string ReasonOfTask(const ClusterState& state, const Policy& policy, const Job& job, const Task* task, Now now) {
  if (task != nullptr && task->state == TaskState::kActive) return AttemptLine(state, policy, *state.FindAttempt(task->attempt), now);
  if (job.cancel_requested) return "being cancelled";
  return task != nullptr && task->not_before != 0 ? NextTryLine(*task, now) : WaitLine(state, policy, job, now);
}

}  // namespace

std::string Reason(const ClusterState& state, const Policy& policy, JobId id, Now now, std::optional<uint32_t> index) {
  const Job* job = state.FindJob(id);
  if (job == nullptr) return "";
  if (index) return ReasonOfTask(state, policy, *job, state.FindTask({id, *index}), now);
  if (job->counts.active > 0) {
    for (uint32_t index : job->live_tasks) {
      const Task* task = state.FindTask({id, index});
      if (task->state == TaskState::kActive) return AttemptLine(state, policy, *state.FindAttempt(task->attempt), now);
    }
  }
  if (job->cancel_requested) return "being cancelled";
  if (!job->HasUnplaced()) {
    const Task* task = FirstWaiting(state, *job);
    if (task != nullptr && task->not_before != 0) return NextTryLine(*task, now);
  }
  return WaitLine(state, policy, *job, now);
}

Explanation Explain(const ClusterState& state, const Policy& policy, JobId id, Now now, std::optional<uint32_t> index) {
  Explanation explanation{.headline = Reason(state, policy, id, now, index)};
  const Job* job = state.FindJob(id);
  if (job == nullptr) return explanation;
  const Task* task = index ? state.FindTask({id, *index}) : FirstLive(state, *job);
  if (task != nullptr && task->state == TaskState::kActive) {
    const Attempt& attempt = *state.FindAttempt(task->attempt);
    Millis deadline = attempt.phase == AttemptPhase::kStopping ? attempt.stop_deadline : attempt.deadline;
    explanation.until = deadline == kNever ? 0 : deadline;
  } else if (task != nullptr && task->not_before != 0) {
    explanation.until = task->not_before;
    explanation.details.push_back("last attempt: " + task->message);
  }
  bool waits = index ? task == nullptr || task->state == TaskState::kQueued : job->counts.queued > 0;
  if (waits && !job->cancel_requested) {
    for (std::string& line : Details(state, job->shape, HeardSince(policy, now))) explanation.details.push_back(std::move(line));
    explanation.ahead = CountAhead(state, *job);
  }
  return explanation;
}

std::string Infeasible(const ClusterState& state, const Shape& shape) {
  if (CouldEverFit(state, shape)) return "";
  Fits fits = CountFits(state, shape, 0);
  std::string text = "needs " + ShapeText(shape) + "; ";
  if (state.nodes.empty()) return text + "no worker has joined the cluster yet";
  if (fits.ever > 0) return text + "only " + std::to_string(fits.ever) + " of the cluster's nodes are that large";
  const Node* largest = nullptr;
  for (const auto& [id, node] : state.nodes) {
    auto size = [](const Node& n) { return std::tuple(n.inventory.gpus.size(), n.inventory.cpus, n.inventory.memory); };
    if (largest == nullptr || size(node) > size(*largest)) largest = &node;
  }
  return text + "no node is that large; the largest is " + largest->name + " with " + std::to_string(largest->inventory.cpus) + " CPUs, " +
         HumanBytes(largest->inventory.memory) + ", " + std::to_string(largest->inventory.gpus.size()) + " GPUs";
}

}  // namespace gt
