#include "coordinator/core/history.h"

#include "common/base/units.h"
#include "coordinator/core/place/fit.h"

namespace gt {
namespace {

struct Describer {
  const ClusterState& state;
  using Line = std::optional<HistoryLine>;

  std::string NodeName(NodeId id) const {
    const Node* node = state.FindNode(id);
    return node == nullptr ? "" : node->name;
  }
  std::string NodeNames(const Attempt& attempt) const {
    std::string names;
    for (const Member& member : attempt.members) names += (names.empty() ? "" : ", ") + NodeName(member.node);
    return names;
  }
  std::optional<uint32_t> IndexOf(TaskId task) const {
    const Job* job = state.FindJob(task.job);
    return job != nullptr && job->array ? std::optional<uint32_t>(task.index) : std::nullopt;
  }
  HistoryLine OfAttempt(const Uid& uid, std::string kind, std::string text) const {
    const Attempt& attempt = *state.FindAttempt(uid);
    std::string node = attempt.members.size() == 1 ? NodeName(attempt.members[0].node) : "";
    return {attempt.task.job, IndexOf(attempt.task), attempt.number, std::move(kind), std::move(node), std::move(text)};
  }
  HistoryLine OfNode(NodeId id, std::string kind, std::string text) const {
    return {.kind = std::move(kind), .node = NodeName(id), .text = std::move(text)};
  }

  Line operator()(const JobSubmitted& e) const {
    std::string text = ShapeText(e.job.shape) + ", priority " + std::to_string(e.job.priority);
    if (e.job.array) text = std::to_string(e.job.range.size()) + " tasks of " + text;
    return HistoryLine{.job = e.job.id, .kind = "SUBMITTED", .text = text};
  }
  Line operator()(const JobCancelRequested& e) const {
    std::string text = e.actor.empty() ? "" : "by " + e.actor;
    if (!e.reason.empty()) text += (text.empty() ? "" : ": ") + e.reason;
    return HistoryLine{.job = e.job, .kind = "CANCEL_REQUESTED", .text = text};
  }
  Line operator()(const IndexCancelled& e) const {
    return HistoryLine{.job = e.task.job, .task_index = e.task.index, .kind = "CANCELLED"};
  }
  Line operator()(const AttemptPlaced& e) const {
    std::string text = e.attempt.members.size() == 1 ? "" : "on " + NodeNames(e.attempt);  // one node has a column of its own
    if (!e.attempt.resume_from.empty()) text += std::string(text.empty() ? "" : ", ") + "resumes from step " + std::to_string(e.attempt.resume_step);
    return OfAttempt(e.attempt.uid, "PLACED", text);
  }
  Line operator()(const RendezvousReady& e) const {
    if (state.FindAttempt(e.uid)->members.size() == 1) return std::nullopt;
    return OfAttempt(e.uid, "RENDEZVOUS", "generation " + std::to_string(e.generation.value) + " at " + e.addr + ":" + std::to_string(e.port));
  }
  Line operator()(const ReformStarted& e) const {
    std::string text = e.why + "; forming generation " + std::to_string(e.generation.value);
    for (const ReformStarted::Moved& moved : e.moved) text += " with node " + NodeName(moved.member.node);
    return OfAttempt(e.uid, "REFORMING", text + ", charged to the " + (e.charged == Budget::kUser ? "user's" : "machines'") + " retries");
  }
  Line operator()(const GangFormed& e) const {
    if (e.generation.value == 1) return std::nullopt;
    return OfAttempt(e.uid, "REFORMED", "generation " + std::to_string(e.generation.value) + " after " + FormatDuration(e.took) + ", " +
                                            std::to_string(e.redone_samples) + " samples are done again");
  }
  Line operator()(const AttemptRunning& e) const { return OfAttempt(e.uid, "RUNNING", ""); }
  Line operator()(const AttemptStopping& e) const {
    const Attempt& attempt = *state.FindAttempt(e.uid);
    std::string text = attempt.failure.message.empty() ? std::string(Name(attempt.stop_cause)) : attempt.failure.message;
    return OfAttempt(e.uid, "STOPPING", text + "; SIGKILL after " + FormatDuration(e.grace));
  }
  Line operator()(const CheckpointAccepted& e) const {
    return OfAttempt(e.uid, "CHECKPOINT", "step " + std::to_string(e.step) + ": " + e.path);
  }
  Line operator()(const AttemptEnded& e) const {
    std::string text = std::string(Name(e.cause));
    if (!e.message.empty()) text += ": " + e.message;
    return OfAttempt(e.uid, "ENDED", text);
  }
  Line operator()(const TaskRequeued& e) const {
    const Task& task = *state.FindTask(e.task);
    std::string wait = e.not_before_wall == 0 ? "now" : "in " + HumanDuration(e.not_before_wall - e.at_wall + kSecond - 1);
    return HistoryLine{.job = e.task.job, .task_index = IndexOf(e.task), .attempt = task.attempts, .kind = "REQUEUED", .text = "next attempt " + wait + e.redone};
  }
  Line operator()(const TaskFinished& e) const {
    const Job& job = *state.FindJob(e.task.job);
    if (!job.array) return std::nullopt;  // the job's own line says it
    return HistoryLine{.job = e.task.job, .task_index = e.task.index, .kind = std::string(Name(e.state)), .text = e.message};
  }
  Line operator()(const JobFinished& e) const {
    const Job& job = *state.FindJob(e.job);
    TaskState end = JobState(job);
    std::string text = job.array ? std::to_string(job.counts.succeeded) + " succeeded, " + std::to_string(job.counts.failed) + " failed, " +
                                       std::to_string(job.counts.cancelled) + " cancelled"
                                 : job.message;
    return HistoryLine{.job = e.job, .kind = std::string(Name(end)), .text = text};
  }
  Line operator()(const NodeJoined& e) const {
    const Inventory& has = e.inventory;
    return OfNode(e.node, "NODE_JOINED", std::to_string(has.cpus) + " CPUs, " + HumanBytes(has.memory) + ", " + std::to_string(has.gpus.size()) + " GPUs");
  }
  Line operator()(const NodeLost& e) const { return OfNode(e.node, "NODE_LOST", "silent for " + HumanDuration(e.silent_for)); }
  Line operator()(const NodeDrainSet& e) const {
    return OfNode(e.node, e.draining ? "NODE_DRAINING" : "NODE_UNDRAINED", e.reason + (e.actor.empty() ? "" : " (" + e.actor + ")"));
  }
  Line operator()(const auto&) const { return std::nullopt; }
};

}  // namespace

std::optional<HistoryLine> Describe(const Event& event, const ClusterState& state) { return std::visit(Describer{state}, event); }

}  // namespace gt
