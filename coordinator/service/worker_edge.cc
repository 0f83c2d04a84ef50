#include "coordinator/service/worker_edge.h"

#include <chrono>
namespace gt {
namespace {
constexpr size_t kMaxLaunchesKept = 256;
}

SyncStream* WorkerEdge::Open(grpc::CallbackServerContext* context) { return SyncStream::Begin(this, context, next_session_++); }

void WorkerEdge::Join(Stream stream, NodeHello hello, NodeReport first) {
  Stream old;
  {
    std::lock_guard lock(mutex_);
    if (closed_ || streams_.size() >= options_.max_streams) {
      return stream->Refuse(closed_ ? "the coordinator is stopping" : "the coordinator has too many workers", /*try_again=*/true);
    }
    streams_[stream->session()] = stream;
    if (auto it = by_name_.find(hello.name); it != by_name_.end()) old = streams_[it->second];
  }
  // A data directory is locked by its worker: a second stream of the same one is its successor, or a new boot.
  bool same_node = old != nullptr && old->node_uid() == hello.uid;
  if (old == nullptr || same_node) return Admit(std::move(stream), std::move(hello), std::move(first));
  ChallengeOld(old, std::move(stream), std::move(hello), std::move(first));
}

void WorkerEdge::ChallengeOld(const Stream& old, Stream newcomer, NodeHello hello, NodeReport first) {
  uint64_t ping = next_ping_++;
  std::string name = hello.name;
  auto deadline = std::chrono::system_clock::now() + std::chrono::milliseconds(options_.ping_wait);
  {
    std::lock_guard lock(mutex_);
    auto& challenge = challenges_[ping] = std::make_unique<Challenge>();
    challenge->newcomer = std::move(newcomer);
    challenge->hello = std::move(hello);
    challenge->first = std::move(first);
    challenge->alarm.Set(deadline, [this, ping](bool) {
      if (auto unanswered = Take(ping)) Admit(unanswered->newcomer, std::move(unanswered->hello), std::move(unanswered->first));
    });
  }
  old->Ping(ping, [this, ping, name] {
    auto answered = Take(ping);
    if (answered == nullptr) return;
    log_->Warn("worker refused: its name is taken", {{"node", name}});
    answered->newcomer->Refuse("another worker with the name '" + name + "' is connected and answers; give this one another node_name", /*try_again=*/false);
  });
}

std::unique_ptr<WorkerEdge::Challenge> WorkerEdge::Take(uint64_t ping) {
  std::lock_guard lock(mutex_);
  auto it = challenges_.find(ping);
  if (it == challenges_.end()) return nullptr;
  std::unique_ptr<Challenge> challenge = std::move(it->second);
  challenges_.erase(it);
  return challenge;
}

void WorkerEdge::Admit(Stream stream, NodeHello hello, NodeReport first) {
  LoopItem item;
  item.commands.push_back(std::move(hello));
  item.commands.push_back(std::move(first));
  item.done = [this, stream](const Status& status, std::span<const Reply> replies) { Answered(stream, status, status.ok() ? replies[0] : Reply()); };
  loop_->PushFromWorker(std::move(item));
}

void WorkerEdge::Answered(const Stream& stream, const Status& status, const Reply& reply) {
  if (!status.ok()) return stream->Refuse(status.message(), /*try_again=*/true);
  const auto& hello = std::get<HelloReply>(reply);
  if (!hello.refused.empty()) {
    log_->Warn("worker refused: " + hello.refused, {{"node", stream->node_name()}});
    return stream->Refuse(hello.refused, /*try_again=*/false);
  }
  Stream replaced;
  {
    std::lock_guard lock(mutex_);
    if (auto it = streams_.find(hello.replaces); it != streams_.end()) replaced = it->second;
    by_name_[stream->node_name()] = stream->session();
  }
  if (replaced) replaced->Abort("another stream speaks for this node now");
  wire::Welcome welcome;
  welcome.set_epoch(options_.epoch.value);
  welcome.set_beat_ms(options_.policy.beat);
  welcome.set_lease_ms(options_.policy.node_lost_after);
  stream->Welcome(welcome);
  log_->Info("node joined", {{"node", stream->node_name()}});
}

void WorkerEdge::Report(NodeReport report) {
  LoopItem item;
  item.commands.push_back(std::move(report));
  loop_->PushFromWorker(std::move(item));
}

void WorkerEdge::Gone(const SyncStream& stream) {
  {
    std::lock_guard lock(mutex_);
    if (streams_.erase(stream.session()) == 0) return;
    auto it = by_name_.find(stream.node_name());
    if (it != by_name_.end() && it->second == stream.session()) by_name_.erase(it);
  }
  log_->Info("node disconnected", {{"node", stream.node_name()}});
  LoopItem item;
  item.commands.push_back(NodeGone{stream.session()});
  loop_->PushFromWorker(std::move(item));
}

WorkerEdge::Stream WorkerEdge::Find(uint64_t session) {
  std::lock_guard lock(mutex_);
  auto it = streams_.find(session);
  return it == streams_.end() ? nullptr : it->second;
}

const wire::JobLaunch* WorkerEdge::LaunchOf(JobId id, const ClusterState& state) {
  if (auto it = launches_.find(id); it != launches_.end()) return &it->second;
  const Job* job = state.FindJob(id);
  if (job == nullptr) return nullptr;
  Result<wire::JobLaunch> launch = ConvertLaunch(*job, options_.policy);
  if (!launch.ok()) {
    log_->Error(launch.status().message(), {{"job", id}});
    return nullptr;
  }
  if (launches_.size() >= kMaxLaunchesKept) launches_.clear();
  return &(launches_[id] = *std::move(launch));
}

void WorkerEdge::End(uint64_t session) {
  if (Stream stream = Find(session)) stream->Abort("this node was silent for too long and counts as lost");
}

void WorkerEdge::Send(Orders orders, const ClusterState& state) {
  Stream stream = Find(orders.session);
  if (stream == nullptr) return;  // it ended meanwhile; NodeGone is on its way to the loop
  wire::NodeOrders message;
  ConvertOrders(orders, &message);
  for (JobId job : orders.jobs)
    if (const wire::JobLaunch* launch = LaunchOf(job, state)) *message.add_jobs() = *launch;
  stream->Send(std::move(message));
}

void WorkerEdge::CloseAll() {
  std::unordered_map<uint64_t, Stream> streams;
  std::map<uint64_t, std::unique_ptr<Challenge>> challenges;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    streams = streams_;
    challenges.swap(challenges_);
  }
  for (auto& [session, stream] : streams) stream->Close(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the coordinator is stopping"));
}

}  // namespace gt
