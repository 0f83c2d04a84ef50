#include "tests/sim/edge.h"

#include "coordinator/service/convert.h"
#include "tests/sim/oracle.h"

namespace gt::sim {

void Edge::OnAccepted(StreamId id, size_t node) {
  auto stream = std::make_shared<Stream>(Stream{.id = id, .node = node, .session = next_session_++});
  streams_[id] = stream;
  by_session_[stream->session] = stream;
}

void Edge::OnReport(StreamId id, const std::string& bytes) {
  auto found = streams_.find(id);
  if (found == streams_.end() || found->second->state == State::kClosing) return;
  StreamPtr stream = found->second;
  wire::NodeReport report;
  GT_ASSERT(report.ParseFromString(bytes));
  if (stream->heard) stream->heard->at.store(parts_.clock().mono, std::memory_order_relaxed);
  if (stream->state == State::kOpen) parts_.oracle->OnHeard(stream->node);
  if (auto ping = stream->pings.find(report.pong()); ping != stream->pings.end()) {
    auto answered = std::move(ping->second);
    stream->pings.erase(ping);
    answered();
  }
  if (report.beat() != 0 && stream->state == State::kOpen) {
    wire::NodeOrders echo;
    echo.set_beat(report.beat());
    Write(*stream, echo);
  }
  Status status = stream->state == State::kNew ? HandleHello(stream, report) : HandleContents(stream.get(), report);
  if (!status.ok())
    parts_.oracle->Fail("worker n" + std::to_string(stream->node) + " broke the protocol: " + status.message());
}

Status Edge::HandleHello(const StreamPtr& stream, const wire::NodeReport& report) {
  if (!report.has_hello()) return {Code::kInvalidArgument, "the first report of a stream must say hello"};
  GT_ASSIGN_OR_RETURN(stream->hello, ConvertHello(report, stream->session));
  GT_ASSIGN_OR_RETURN(NodeReport first, ConvertReport(report, stream->session, parts_.clock().wall));
  stream->state = State::kJoining;
  stream->seq_in = first.seq;
  stream->heard = parts_.heard->Add(stream->session);
  stream->heard->at.store(parts_.clock().mono, std::memory_order_relaxed);
  Join(stream, std::move(first));
  return OkStatus();
}

Status Edge::HandleContents(Stream* stream, const wire::NodeReport& report) {
  if (report.seq() == 0) {
    if (report.ack() == stream->last_ack_in) return OkStatus();
  } else {
    if (report.seq() != stream->seq_in + 1)
      return {Code::kInvalidArgument,
              "report " + std::to_string(report.seq()) + " came after " + std::to_string(stream->seq_in)};
    if (stream->acked_out != stream->seq_in)
      return {Code::kInvalidArgument, "a second report came while one was in flight"};
    stream->seq_in = report.seq();
  }
  stream->last_ack_in = report.ack();
  GT_ASSIGN_OR_RETURN(NodeReport converted, ConvertReport(report, stream->session, parts_.clock().wall));
  LoopItem item;
  item.commands.push_back(std::move(converted));
  parts_.push(std::move(item));
  return OkStatus();
}

void Edge::Join(const StreamPtr& stream, NodeReport first) {
  auto known = by_name_.find(stream->hello.name);
  if (known == by_name_.end()) return Admit(stream, std::move(first));
  StreamPtr old = known->second;
  // A data directory is locked by its worker: a second stream of the same one is its successor, or a new boot.
  if (old->hello.uid == stream->hello.uid) return Admit(stream, std::move(first));
  Challenge(old, stream, std::move(first));
}

void Edge::Challenge(const StreamPtr& old, const StreamPtr& newcomer, NodeReport first) {
  uint64_t ping = next_ping_++;
  auto decided = std::make_shared<bool>(false);
  parts_.timeline->After(kSecond, [this, alive = std::weak_ptr<bool>(alive_), decided, newcomer, first] {
    if (alive.lock() && !std::exchange(*decided, true)) Admit(newcomer, first);
  });
  if (old->state != State::kOpen) return;
  old->pings[ping] = [this, decided, newcomer] {
    if (!std::exchange(*decided, true)) Refuse(newcomer, "another worker with this name answers", false);
  };
  wire::NodeOrders orders;
  orders.set_ping(ping);
  Write(*old, orders);
}

void Edge::Admit(const StreamPtr& stream, NodeReport first) {
  LoopItem item;
  item.commands.push_back(stream->hello);
  item.commands.push_back(std::move(first));
  item.done = [this, stream](const Status& status, std::span<const Reply> replies) {
    Answered(stream, status, status.ok() ? replies[0] : Reply());
  };
  parts_.push(std::move(item));
}

void Edge::Answered(const StreamPtr& stream, const Status& status, const Reply& reply) {
  if (!status.ok()) return Refuse(stream, status.message(), true);
  const auto& hello = std::get<HelloReply>(reply);
  if (!hello.refused.empty())
    return parts_.oracle->Fail("n" + std::to_string(stream->node) + " was refused: " + hello.refused);
  auto replaced = by_session_.find(hello.replaces);
  by_name_[stream->hello.name] = stream;
  if (replaced != by_session_.end()) Close(StreamPtr(replaced->second));
  if (stream->state != State::kJoining) return;
  stream->state = State::kOpen;
  parts_.oracle->OnHeard(stream->node);
  wire::NodeOrders orders;
  orders.mutable_welcome()->set_epoch(parts_.epoch.value);
  orders.mutable_welcome()->set_beat_ms(parts_.policy.beat);
  orders.mutable_welcome()->set_lease_ms(parts_.policy.node_lost_after);
  Write(*stream, orders);
}

void Edge::Refuse(const StreamPtr& stream, const std::string& why, bool try_again) {
  if (stream->state == State::kClosing) return;
  wire::NodeOrders orders;
  orders.mutable_welcome()->set_refused(why);
  orders.mutable_welcome()->set_try_again(try_again);
  Write(*stream, orders);
  Close(stream);
}

void Edge::Close(const StreamPtr& stream) {
  if (stream->state == State::kClosing) return;
  stream->state = State::kClosing;
  parts_.network->Close(stream->id, kDown);
  Gone(stream);
}

void Edge::OnGone(StreamId id) {
  auto found = streams_.find(id);
  if (found == streams_.end()) return;
  StreamPtr stream = found->second;
  if (stream->state == State::kClosing) return;
  stream->state = State::kClosing;
  Gone(stream);
}

void Edge::Gone(const StreamPtr& stream) {
  streams_.erase(stream->id);
  by_session_.erase(stream->session);
  auto named = by_name_.find(stream->hello.name);
  if (named != by_name_.end() && named->second == stream) by_name_.erase(named);
  LoopItem item;
  item.commands.push_back(NodeGone{stream->session});
  parts_.push(std::move(item));
}

void Edge::Send(Orders orders, const ClusterState& state) {
  auto found = by_session_.find(orders.session);
  if (found == by_session_.end() || found->second->state != State::kOpen) return;
  Stream& stream = *found->second;
  stream.acked_out = std::max(stream.acked_out, orders.ack);
  wire::NodeOrders message;
  ConvertOrders(orders, &message);
  for (JobId id : orders.jobs) {
    const Job* job = state.FindJob(id);
    if (job == nullptr) continue;
    Result<wire::JobLaunch> launch = ConvertLaunch(*job, parts_.policy);
    if (!launch.ok()) return parts_.oracle->Fail(launch.status().message());
    *message.add_jobs() = *std::move(launch);
  }
  Write(stream, message);
}

void Edge::End(uint64_t session) {
  auto found = by_session_.find(session);
  if (found != by_session_.end()) Close(StreamPtr(found->second));
}

uint64_t Edge::AnotherSession(uint64_t session) const {
  for (const auto& [other, stream] : by_session_)
    if (other != session && stream->state == State::kOpen) return other;
  return 0;
}

void Edge::Write(const Stream& stream, const wire::NodeOrders& orders) {
  parts_.network->Send(stream.id, kDown, orders.SerializeAsString());
}

}  // namespace gt::sim
