#include "tests/sim/oracle.h"

#include <algorithm>
#include <cstdio>

#include "tests/sim/disk.h"

namespace gt::sim {

void Oracle::Print(const std::string& text) const {
  std::printf("%9lld %s\n", static_cast<long long>(timeline_->now()), text.c_str());
}

void Oracle::Fail(const std::string& what) {
  if (failed()) return;
  failure_ = "at " + std::to_string(timeline_->now()) + " ms: " + what;
  Trace([&] { return "FAILED " + what; });
}

std::string Oracle::Tag(const Uid& uid) const {
  auto placed = placed_.find(uid);
  std::string text = ToHex(uid).substr(0, 8);
  return placed == placed_.end() ? text
                                 : text + " (attempt " + std::to_string(placed->second.number) + " of " +
                                       ToString(placed->second.task, true) + ")";
}

std::optional<size_t> Oracle::IndexOf(const ClusterState& state, NodeId id) const {
  const gt::Node* node = state.FindNode(id);
  return node == nullptr ? std::nullopt : std::optional<size_t>(std::stoul(node->name.substr(1)));
}

// --- nodes
// ------------------------------------------------------------------------------------------------------------

void Oracle::OnTaken(size_t node, const worker::LauncherStart& start) {
  auto placed = placed_.find(start.uid);
  Trace([&] { return "n" + std::to_string(node) + " takes " + Tag(start.uid); });
  if (placed == placed_.end())
    return Fail("n" + std::to_string(node) + " was told to run an attempt that was never placed");
  if (!placed->second.members.contains(node))
    return Fail("n" + std::to_string(node) + " was told to run " + Tag(start.uid) + ", of which it is no member");
  if (!placed->second.taken.insert(node).second)
    return Fail("n" + std::to_string(node) + " was told twice to start " + Tag(start.uid));
}

void Oracle::OnExec(size_t node, const worker::LauncherStart& start) {
  Placed& placed = placed_.at(start.uid);
  Trace([&] { return "n" + std::to_string(node) + " runs " + Tag(start.uid); });
  if (placed.gone.contains(node) && !placed.lost.contains(node))
    return Fail(Tag(start.uid) + " starts on n" + std::to_string(node) +
                " though the coordinator has heard from there that it is gone");
  if (start.rank_gpus.at(0) != placed.members.at(node))
    return Fail(Tag(start.uid) + " starts with other GPUs than it was placed on");
  std::erase(running_[node], start.uid);  // an earlier process of the same rank
  CheckShared(node, start.uid, placed);
  running_[node].push_back(start.uid);
}

void Oracle::CheckShared(size_t node, const Uid& uid, const Placed& placed) {
  int32_t cpus = placed.cpus;
  const std::vector<std::string>& gpus = placed.members.at(node);
  std::erase_if(running_[node], [&](const Uid& other) { return !(*nodes_)[node]->launcher.Lives(other); });
  for (const Uid& other_uid : running_[node]) {
    const Placed& other = placed_.at(other_uid);
    cpus += other.cpus;
    for (const std::string& gpu : other.members.at(node))
      if (std::find(gpus.begin(), gpus.end(), gpu) != gpus.end())
        return Fail(gpu + " is used by " + Tag(uid) + " and " + Tag(other_uid) + " at once");
  }
  if (cpus > plan_->nodes[node].cpus)
    Fail("n" + std::to_string(node) + " runs more than it has CPUs for when " + Tag(uid) + " starts");
}

void Oracle::OnDropped(const std::string& node, const std::string& why) {
  Trace([&] { return node + " drops its stream: " + why; });
  bool fine = why.find("silent") != std::string::npos || why.find("not welcome yet") != std::string::npos;
  if (!fine) Fail("worker " + node + " met a coordinator that breaks the protocol: " + why);
}

// --- coordinator
// ------------------------------------------------------------------------------------------------------

void Oracle::OnTurn(const Batch& batch, const ClusterState& state, Millis at) {
  if (failed()) return;
  lost_now_.clear();
  judged_mono_ = batch.now.mono;
  for (const HistoryLine& line : batch.history)
    Trace([&] {
      return "* " + std::to_string(line.job.value) + "_" + std::to_string(line.task_index.value_or(0)) + "#" +
             std::to_string(line.attempt) + " " + line.kind + " " + line.node + " " + line.text;
    });
  for (const Event& event : batch.events) std::visit([&](const auto& e) { Judge(e, state, at); }, event);
}

void Oracle::Judge(const JobSubmitted& e, const ClusterState&, Millis) {
  if (!submitted_.emplace(e.job.client_key, e.job.id).second)
    Fail("two jobs were made for the key " + e.job.client_key);
}

void Oracle::Judge(const AttemptPlaced& e, const ClusterState& state, Millis) {
  const Attempt& attempt = e.attempt;
  Placed placed{.task = attempt.task, .number = attempt.number, .cpus = attempt.cpus};
  auto before = newest_.find(attempt.task);
  uint32_t last = before == newest_.end() ? 0 : placed_.at(before->second).number;
  if (attempt.number != last + 1)
    return Fail("attempt " + std::to_string(attempt.number) + " of " + ToString(attempt.task, true) +
                " follows number " + std::to_string(last));
  if (task_final_.contains(attempt.task)) return Fail(ToString(attempt.task, true) + " was over and is placed again");
  if (before != newest_.end() && !placed_.at(before->second).ended)
    return Fail(ToString(attempt.task, true) + " is placed while " + Tag(before->second) + " has not ended");
  newest_[attempt.task] = attempt.uid;
  const Job* job = state.FindJob(attempt.task.job);
  if (job == nullptr || job->cancel_requested)
    return Fail(ToString(attempt.task, true) + " is placed though it was cancelled");
  if (attempt.resume_from != checkpoints_[attempt.task])
    return Fail(ToString(attempt.task, true) + " is to resume from " + attempt.resume_from +
                ", not from the newest accepted checkpoint");
  for (const Member& member : attempt.members) {
    const gt::Node* node = state.FindNode(member.node);
    if (node == nullptr || node->draining || node->state != NodeState::kUp)
      return Fail(ToString(attempt.task, true) + " is placed on a node that takes nothing");
    if (!placed.members.emplace(*IndexOf(state, member.node), member.gpu_uuids).second)
      return Fail("two members of one attempt are on one node");
  }
  placed_.emplace(attempt.uid, std::move(placed));
}

void Oracle::Judge(const ReformStarted& e, const ClusterState& state, Millis) {
  Placed& placed = placed_.at(e.uid);
  if (placed.ended || newest_[placed.task] != e.uid) return Fail(Tag(e.uid) + " is re-formed and is not the current attempt");
  if (e.generation.value != ++placed.generation) return Fail(Tag(e.uid) + " skips a generation or has one twice");
  if (placed.formed == 0) return Fail(Tag(e.uid) + " is re-formed though its ranks were never all there");
  const Attempt& attempt = *state.FindAttempt(e.uid);
  for (const ReformStarted::Moved& moved : e.moved) {
    const gt::Node* node = state.FindNode(moved.member.node);
    if (node == nullptr || node->draining || node->state != NodeState::kUp)
      return Fail("a part of " + Tag(e.uid) + " moves to a node that takes nothing");
    if (!placed.members.emplace(*IndexOf(state, node->id), moved.member.gpu_uuids).second)
      return Fail("a part of " + Tag(e.uid) + " moves to a node that has or had one");
  }
  for (const auto& [index, gpus] : placed.members) {
    bool member = std::any_of(attempt.members.begin(), attempt.members.end(), [&](const Member& m) { return IndexOf(state, m.node) == index; });
    if (!member) placed.lost.insert(index);
  }
}

void Oracle::Judge(const GangFormed& e, const ClusterState&, Millis) {
  Placed& placed = placed_.at(e.uid);
  if (e.generation.value != placed.generation || e.generation.value <= placed.formed) return Fail(Tag(e.uid) + " has formed a generation that is not the current one");
  placed.formed = e.generation.value;
}

void Oracle::Judge(const MemberGone& e, const ClusterState& state, Millis) {
  Placed& placed = placed_.at(e.uid);
  size_t node = *IndexOf(state, e.node);
  placed.gone.insert(node);
  bool lost_node = lost_now_.contains(node);
  if (lost_node) placed.lost.insert(node);
  if (WillLive(node, e.uid) && !lost_node)
    Fail("the coordinator believes that " + Tag(e.uid) + " is gone from n" + std::to_string(node) + ", where it lives");
}

void Oracle::Judge(const AttemptEnded& e, const ClusterState& state, Millis) {
  Placed& placed = placed_.at(e.uid);
  if (std::exchange(placed.ended, true)) return Fail(Tag(e.uid) + " ended twice");
  if (plan_->gentle && BudgetOf(e.cause) == Budget::kInfra)
    Fail(Tag(e.uid) + " ended as " + std::string(Name(e.cause)) + " (" + e.message + ") though no fault could hurt it");
  const Attempt* attempt = state.FindAttempt(e.uid);
  for (const Member& member : attempt->members) {
    if (member.gone) continue;
    const gt::Node& node = *state.FindNode(member.node);
    bool silent = node.state == NodeState::kLost || judged_mono_ - node.last_heard >= policy_->suspect_after();
    bool overdue = attempt->stop_deadline <= judged_mono_;
    if (!silent && !overdue)
      Fail(Tag(e.uid) + " ended while its member on " + node.name + " is neither gone nor silent nor overdue");
    if (silent) placed.lost.insert(*IndexOf(state, member.node));
  }
}

void Oracle::Judge(const TaskFinished& e, const ClusterState&, Millis) {
  if (!task_final_.emplace(e.task, e.state).second) Fail(ToString(e.task, true) + " finished twice");
}

void Oracle::Judge(const JobFinished& e, const ClusterState& state, Millis) {
  if (!job_final_.emplace(e.job, JobState(*state.FindJob(e.job))).second)
    Fail("job " + std::to_string(e.job.value) + " finished twice");
}

void Oracle::Judge(const CheckpointAccepted& e, const ClusterState&, Millis) {
  const Placed& placed = placed_.at(e.uid);
  if (placed.ended || newest_[e.task] != e.uid)
    return Fail("a checkpoint of " + Tag(e.uid) + " was accepted, which is not the current attempt");
  if (e.path.rfind(ToHex(e.uid), 0) != 0)
    return Fail("a checkpoint of another attempt was accepted as one of " + Tag(e.uid));
  checkpoints_[e.task] = e.path;
}

void Oracle::Judge(const NodeLost& e, const ClusterState& state, Millis at) {
  size_t node = *IndexOf(state, e.node);
  lost_now_.insert(node);
  Millis silent = at - std::max(heard_[node], started_at_);
  bool heard_since = heard_[node] > at;  // while the verdict waited for space on the disk
  if (!heard_since && silent < policy_->node_lost_after)
    Fail("n" + std::to_string(node) + " is called lost " + std::to_string(silent) + " ms after it was heard");
  if (plan_->gentle) Fail("n" + std::to_string(node) + " is called lost though no fault could make it so");
}

void Oracle::OnStarted(const ClusterState& state, Disk* disk) {
  started_at_ = timeline_->now();
  for (const auto& [key, job] : acknowledged_)
    if (disk->FindKey(key) != job)
      Fail("job " + std::to_string(job.value) + " was acknowledged and is not in the store after a restart");
  for (JobId id : cancelled_) {
    const Job* job = state.FindJob(id);
    if (job != nullptr && !job->cancel_requested)
      Fail("the acknowledged cancel of job " + std::to_string(id.value) + " is not in the store after a restart");
  }
  for (const auto& [name, draining] : drained_) {
    const gt::Node* node = state.node_names.contains(name) ? state.FindNode(state.node_names.at(name)) : nullptr;
    if (draining && (node == nullptr || node->draining != *draining))
      Fail("the acknowledged drain of " + name + " is not in the store after a restart");
  }
  CheckFinals(disk);
}

void Oracle::CheckFinals(Disk* disk) {
  for (const auto& [id, final_state] : job_final_) {
    std::optional<TaskState> stored = disk->FinalState(id);
    if (stored != final_state)
      return Fail("job " + std::to_string(id.value) + " was " + std::string(Name(final_state)) + " and is no more");
  }
}

// --- clients
// ----------------------------------------------------------------------------------------------------------

void Oracle::OnSubmitted(const std::string& key, JobId job) {
  auto [known, fresh] = acknowledged_.emplace(key, job);
  if (!fresh && known->second != job)
    Fail("the key " + key + " was answered with job " + std::to_string(known->second.value) + " and then with " +
         std::to_string(job.value));
}

std::string Oracle::Unfinished(const ClusterState& state) const {
  for (const auto& [id, job] : state.jobs)
    return "job " + std::to_string(id.value) + " does not end (queued " + std::to_string(job.counts.queued) +
           ", active " + std::to_string(job.counts.active) + ")";
  if (!state.attempts.empty()) return "attempt " + Tag(state.attempts.begin()->first) + " stays in memory";
  if (state.nodes.size() != nodes_->size()) return "not all nodes have joined";
  for (const auto& [id, node] : state.nodes) {
    if (node.state != NodeState::kUp || !node.connected || !node.snapshot_complete) return node.name + " is not back";
    if (!node.stale.empty()) return node.name + " still holds " + Tag(*node.stale.begin()) + ", which nobody wants";
    if (!node.held.empty()) return node.name + " still holds " + Tag(*node.held.begin());
  }
  for (const std::unique_ptr<Node>& node : *nodes_) {
    if (node->launcher.entries() > 0) return "the journal of " + node->name() + " keeps" + node->launcher.Describe();
    if (node->agent() == nullptr) return node->name() + " has no worker";
    if (!node->agent()->attempts().empty())
      return "the agent of " + node->name() + " keeps " + Tag(node->agent()->attempts().begin()->first);
  }
  return "";
}

}  // namespace gt::sim
