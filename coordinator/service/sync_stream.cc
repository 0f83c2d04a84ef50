#include "coordinator/service/sync_stream.h"

#include "coordinator/service/edge.h"
#include "coordinator/service/worker_edge.h"

namespace gt {
namespace {

constexpr size_t kMaxPings = 64;

bool HasContents(const wire::NodeReport& report) { return report.seq() != 0; }

}  // namespace

SyncStream* SyncStream::Begin(WorkerEdge* edge, grpc::CallbackServerContext* context, uint64_t session) {
  std::shared_ptr<SyncStream> stream(new SyncStream(edge, context, session));
  stream->self_ = stream;
  stream->StartRead(&stream->incoming_);
  return stream.get();
}

void SyncStream::OnReadDone(bool ok) {
  Status status = ok ? Handle() : Status(Code::kUnavailable, "the worker is gone");
  if (!status.ok()) return Close(ToGrpc(status));
  {
    std::lock_guard lock(mutex_);
    if (finished_) return;
  }
  StartRead(&incoming_);
}

Status SyncStream::Handle() {
  Millis now = edge_->clock().mono;
  if (heard_) heard_->at.store(now, std::memory_order_relaxed);
  HandlePong();
  {
    std::lock_guard lock(mutex_);
    if (incoming_.beat() != 0) beat_due_ = incoming_.beat();
    if (state_ == State::kOpen) MaybeWrite();
    if (state_ == State::kClosing) return OkStatus();
  }
  return heard_ ? HandleContents() : HandleHello();
}

void SyncStream::HandlePong() {
  if (incoming_.pong() == 0) return;
  std::function<void()> answered;
  {
    std::lock_guard lock(mutex_);
    auto it = pings_.find(incoming_.pong());
    if (it == pings_.end()) return;
    answered = std::move(it->second);
    pings_.erase(it);
  }
  answered();
}

Status SyncStream::HandleHello() {
  if (!incoming_.has_hello()) return {Code::kInvalidArgument, "the first report of a stream must say hello"};
  GT_ASSIGN_OR_RETURN(NodeHello hello, ConvertHello(incoming_, session_));
  GT_ASSIGN_OR_RETURN(NodeReport report, ConvertReport(incoming_, session_, edge_->clock().wall));
  node_name_ = hello.name;
  node_uid_ = hello.uid;
  {
    std::lock_guard lock(mutex_);
    state_ = State::kJoining;
    seq_in_ = report.seq;
  }
  heard_ = edge_->loop()->heard().Add(session_);
  heard_->at.store(edge_->clock().mono, std::memory_order_relaxed);
  edge_->Join(shared_from_this(), std::move(hello), std::move(report));
  return OkStatus();
}

Status SyncStream::HandleContents() {
  if (!HasContents(incoming_)) {
    if (incoming_.ack() == last_ack_in_) return OkStatus();
  } else {
    std::lock_guard lock(mutex_);
    if (incoming_.seq() != seq_in_ + 1) return {Code::kInvalidArgument, "report " + std::to_string(incoming_.seq()) + " came after " + std::to_string(seq_in_)};
    if (acked_out_ != seq_in_) return {Code::kInvalidArgument, "a second report came while one was in flight"};
    seq_in_ = incoming_.seq();
  }
  last_ack_in_ = incoming_.ack();
  GT_ASSIGN_OR_RETURN(NodeReport report, ConvertReport(incoming_, session_, edge_->clock().wall));
  edge_->Report(std::move(report));
  return OkStatus();
}

void SyncStream::Welcome(const wire::Welcome& welcome) {
  std::lock_guard lock(mutex_);
  if (state_ != State::kJoining) return;
  state_ = State::kOpen;
  *pending_.mutable_welcome() = welcome;
  has_pending_ = true;
  MaybeWrite();
}

void SyncStream::Refuse(const std::string& why, bool try_again) {
  std::lock_guard lock(mutex_);
  if (state_ == State::kClosing) return;
  pending_.Clear();
  pending_.mutable_welcome()->set_refused(why);
  pending_.mutable_welcome()->set_try_again(try_again);
  has_pending_ = true;
  beat_due_ = ping_due_ = 0;
  state_ = State::kClosing;
  final_status_ = grpc::Status::OK;
  MaybeWrite();
}

void SyncStream::Send(wire::NodeOrders orders) {
  std::lock_guard lock(mutex_);
  if (state_ != State::kOpen) return;
  acked_out_ = std::max<uint64_t>(acked_out_, orders.ack());
  // One message with a seq is in flight at most, and it has left when the next one comes: merging meets no second list.
  if (has_pending_) pending_.MergeFrom(orders);
  else pending_ = std::move(orders);
  has_pending_ = true;
  MaybeWrite();
}

void SyncStream::Ping(uint64_t ping, std::function<void()> answered) {
  std::lock_guard lock(mutex_);
  if (state_ != State::kOpen || pings_.size() >= kMaxPings) return;
  pings_[ping] = std::move(answered);
  ping_due_ = ping;
  MaybeWrite();
}

void SyncStream::Abort(const std::string& why) {
  Close(grpc::Status(grpc::StatusCode::ABORTED, why));
  std::lock_guard lock(mutex_);
  if (context_ != nullptr) context_->TryCancel();
}

void SyncStream::Close(const grpc::Status& status) {
  std::lock_guard lock(mutex_);
  if (state_ == State::kClosing) return MaybeFinish();
  state_ = State::kClosing;
  final_status_ = status;
  has_pending_ = false;
  MaybeFinish();
}

void SyncStream::MaybeWrite() {
  if (writing_ || finished_ || (!has_pending_ && beat_due_ == 0 && ping_due_ == 0)) return;
  outgoing_.Clear();
  if (has_pending_) outgoing_.Swap(&pending_);
  has_pending_ = false;
  if (beat_due_ != 0) outgoing_.set_beat(std::exchange(beat_due_, 0));
  if (ping_due_ != 0) outgoing_.set_ping(std::exchange(ping_due_, 0));
  writing_ = true;
  StartWrite(&outgoing_);
}

void SyncStream::MaybeFinish() {
  if (writing_ || finished_) return;
  finished_ = true;
  Finish(final_status_);
}

void SyncStream::OnWriteDone(bool ok) {
  std::lock_guard lock(mutex_);
  writing_ = false;
  if (!ok && state_ != State::kClosing) {
    state_ = State::kClosing;
    final_status_ = grpc::Status(grpc::StatusCode::UNAVAILABLE, "the worker is gone");
  }
  if (state_ != State::kClosing || (ok && has_pending_)) return MaybeWrite();
  MaybeFinish();
}

void SyncStream::OnCancel() { Close(grpc::Status(grpc::StatusCode::CANCELLED, "the worker is gone")); }

void SyncStream::OnDone() {
  std::shared_ptr<SyncStream> last = std::move(self_);
  {
    std::lock_guard lock(mutex_);
    context_ = nullptr;
  }
  edge_->Gone(*this);
}

}  // namespace gt
