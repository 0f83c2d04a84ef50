#include "coordinator/core/sessions.h"

#include <algorithm>
#include <utility>

namespace gt {
namespace {

constexpr size_t kAttemptsPerMessage = 512;
constexpr size_t kLaunchBytesPerMessage = 192u << 10;  // of specs; a larger one travels alone
constexpr size_t kJobsSentBeforeSweep = 10'000;

AttemptOrder RunOrder(const Attempt& attempt, uint32_t group_rank) {
  AttemptOrder order;
  order.uid = attempt.uid;
  order.job = attempt.task.job;
  order.task_index = attempt.task.index;
  order.number = attempt.number;
  order.generation = attempt.rendezvous.generation;
  order.group_rank = group_rank;
  order.group_world_size = static_cast<uint32_t>(attempt.members.size());
  order.gpu_uuids = attempt.members[group_rank].gpu_uuids;
  order.master_addr = attempt.rendezvous.addr;
  order.master_port = attempt.rendezvous.port;
  order.local_endpoint = attempt.members.size() == 1;
  order.resume_from = attempt.resume_from;
  if (!attempt.reform.born.empty()) {
    auto first = attempt.reform.born.begin() + group_rank * attempt.RanksPerNode();
    order.born.assign(first, first + attempt.RanksPerNode());
  }
  return order;
}

AttemptOrder StopOrder(const Uid& uid, Millis grace, Cause why) {
  AttemptOrder order;
  order.uid = uid;
  order.stop = true;
  order.grace = grace;
  order.why = why;
  return order;
}

// What the node should do about the attempt, as it is now; nullopt: nothing.
std::optional<AttemptOrder> OrderFor(const ClusterState& state, NodeId node, const Uid& uid) {
  const Attempt* attempt = state.FindAttempt(uid);
  if (attempt == nullptr) return StopOrder(uid, 0, Cause::kNone);
  for (uint32_t i = 0; i < attempt->members.size(); ++i) {
    const Member& member = attempt->members[i];
    if (member.node != node) continue;
    if (member.gone) return state.FindNode(node)->stale.contains(uid) ? std::optional(StopOrder(uid, 0, Cause::kNone)) : std::nullopt;
    if (attempt->phase == AttemptPhase::kEnded) return StopOrder(uid, 0, attempt->cause);
    if (attempt->phase == AttemptPhase::kStopping) return StopOrder(uid, attempt->stop_grace, attempt->stop_cause);
    return RunOrder(*attempt, i);
  }
  return StopOrder(uid, 0, Cause::kNone);  // never a member: what it holds is nobody's
}

}  // namespace

void Sessions::Touch(uint64_t session) {
  const Session& s = sessions_.at(session);
  bool acknowledge = s.ack_due > s.acked;  // needs no place in the window
  if (acknowledge || (s.in_flight == 0 && s.HasWork())) due_.insert(session);
}

void Sessions::Open(uint64_t session, NodeId node) {
  if (auto old = by_node_.find(node); old != by_node_.end()) Close(old->second);
  sessions_[session].node = node;
  by_node_[node] = session;
  Touch(session);
}

void Sessions::Close(uint64_t session) {
  auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  by_node_.erase(found->second.node);
  sessions_.erase(found);
  due_.erase(session);
}

void Sessions::End(uint64_t session) {
  Close(session);
  ended_.push_back(session);
}

std::optional<NodeId> Sessions::NodeOf(uint64_t session) const {
  auto found = sessions_.find(session);
  return found == sessions_.end() ? std::nullopt : std::optional(found->second.node);
}

std::optional<uint64_t> Sessions::SessionOf(NodeId node) const {
  auto found = by_node_.find(node);
  return found == by_node_.end() ? std::nullopt : std::optional(found->second);
}

void Sessions::OnReport(uint64_t session, uint64_t seq, uint64_t ack) {
  Session& s = sessions_.at(session);
  s.ack_due = std::max(s.ack_due, seq);
  if (s.in_flight != 0 && ack >= s.in_flight) s.in_flight = 0;
  Touch(session);
}

void Sessions::BeginSnapshot(uint64_t session) {
  Session& s = sessions_.at(session);
  s.collecting = true;
  s.named.clear();
}

void Sessions::NoteNamed(uint64_t session, const Uid& uid) {
  Session& s = sessions_.at(session);
  if (s.collecting) s.named.insert(uid);
}

std::set<Uid> Sessions::EndSnapshot(uint64_t session) {
  Session& s = sessions_.at(session);
  s.collecting = false;
  return std::exchange(s.named, {});
}

void Sessions::MarkAttempt(NodeId node, const Uid& uid) {
  auto session = by_node_.find(node);
  if (session == by_node_.end()) return;
  sessions_.at(session->second).dirty.insert(uid);
  Touch(session->second);
}

void Sessions::MarkForget(NodeId node, const Uid& uid) {
  auto session = by_node_.find(node);
  if (session == by_node_.end()) return;
  Session& s = sessions_.at(session->second);
  s.dirty.erase(uid);
  s.forget.push_back(uid);
  Touch(session->second);
}

void Sessions::OnEvent(const Event& event, const ClusterState& state) {
  auto mark_all = [&](const Uid& uid) {
    for (const Member& member : state.FindAttempt(uid)->members)
      if (!member.gone) MarkAttempt(member.node, uid);
  };
  if (const auto* placed = std::get_if<AttemptPlaced>(&event)) mark_all(placed->attempt.uid);
  if (const auto* ready = std::get_if<RendezvousReady>(&event)) mark_all(ready->uid);
  if (const auto* reform = std::get_if<ReformStarted>(&event)) mark_all(reform->uid);
  if (const auto* stopping = std::get_if<AttemptStopping>(&event)) mark_all(stopping->uid);
  if (const auto* ended = std::get_if<AttemptEnded>(&event)) mark_all(ended->uid);
  if (const auto* gone = std::get_if<MemberGone>(&event)) MarkForget(gone->node, gone->uid);
  if (const auto* stale = std::get_if<NodeStale>(&event)) {
    if (stale->held) MarkAttempt(stale->node, stale->uid);
    else MarkForget(stale->node, stale->uid);
  }
}

// Launch data of jobs that are over is let go on both sides, now and then and many at a time.
void Sessions::SweepJobs(Session* s, const ClusterState& state, Orders* orders) {
  for (auto job = s->jobs_sent.begin(); job != s->jobs_sent.end();) {
    if (state.FindJob(*job) != nullptr) {
      ++job;
      continue;
    }
    orders->drop_jobs.push_back(*job);
    job = s->jobs_sent.erase(job);
  }
  s->sweep_jobs_at = std::max(kJobsSentBeforeSweep, 2 * s->jobs_sent.size());
}

std::vector<uint64_t> Sessions::Due() const { return {due_.begin(), due_.end()}; }

std::optional<Orders> Sessions::NextOrders(uint64_t session, const ClusterState& state) {
  auto found = sessions_.find(session);
  if (found == sessions_.end() || due_.erase(session) == 0) return std::nullopt;
  Session& s = found->second;
  Orders orders{.session = session, .ack = s.ack_due};
  s.acked = s.ack_due;
  if (s.in_flight != 0 || !s.HasWork()) return orders.ack == 0 ? std::nullopt : std::optional(orders);
  orders.seq = s.in_flight = s.next_seq++;
  if (std::exchange(s.snapshot_begin, false)) {
    orders.snapshot_begin = s.snapshot_end = true;
    const Node& node = *state.FindNode(s.node);
    s.dirty.insert(node.held.begin(), node.held.end());
  }
  size_t launch_bytes = 0;
  while (!s.dirty.empty() && orders.attempts.size() < kAttemptsPerMessage && launch_bytes < kLaunchBytesPerMessage) {
    Uid uid = *s.dirty.begin();
    s.dirty.erase(s.dirty.begin());
    std::optional<AttemptOrder> order = OrderFor(state, s.node, uid);
    if (!order) continue;
    if (!order->stop && s.jobs_sent.insert(order->job).second) {
      orders.jobs.push_back(order->job);
      launch_bytes += state.FindJob(order->job)->spec.size();
    }
    orders.attempts.push_back(std::move(*order));
  }
  orders.snapshot_end = s.dirty.empty() && std::exchange(s.snapshot_end, false);
  orders.forget = std::exchange(s.forget, {});
  if (s.jobs_sent.size() >= s.sweep_jobs_at) SweepJobs(&s, state, &orders);
  return orders;
}

}  // namespace gt
