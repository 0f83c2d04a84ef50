#include "tests/unit/worker/fake_coordinator.h"

namespace gt::worker {
namespace v1 = gridtrain::v1;
namespace {

Uid Plain(const v1::WireUid& uid) { return Uid{uid.high(), uid.low()}; }

// Fields that a report leaves out have not changed.
void Merge(const v1::AttemptReport& from, v1::AttemptReport* to) {
  v1::AttemptReport next = from;
  if (!next.has_phase() && to->has_phase()) next.set_phase(to->phase());
  if (!next.has_endpoint_port() && to->has_endpoint_port()) {
    next.set_endpoint_addr(to->endpoint_addr());
    next.set_endpoint_port(to->endpoint_port());
  }
  if (!next.has_exit() && to->has_exit()) *next.mutable_exit() = to->exit();
  if (!next.has_progress() && to->has_progress()) *next.mutable_progress() = to->progress();
  *to = std::move(next);
}

}  // namespace

v1::WireUid Wire(const Uid& uid) {
  v1::WireUid wire;
  wire.set_high(uid.high);
  wire.set_low(uid.low);
  return wire;
}

void FakeCoordinator::Listen(int port) {
  grpc::ServerBuilder builder;
  int bound = 0;
  builder.AddListeningPort("127.0.0.1:" + std::to_string(port), grpc::InsecureServerCredentials(), &bound);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  port_ = bound;
}

void FakeCoordinator::Stop() {
  if (!server_) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
}

void FakeCoordinator::Restart() {
  Stop();
  {
    std::lock_guard lock(mutex_);
    ++epoch_;
  }
  Listen(port_);
}

bool FakeCoordinator::Allowed(grpc::ServerContext* context) const {
  if (token_.empty()) return true;
  auto found = context->client_metadata().find("authorization");
  return found != context->client_metadata().end() &&
         std::string(found->second.data(), found->second.size()) == "Bearer " + token_;
}

grpc::Status FakeCoordinator::Sync(grpc::ServerContext* context, Stream* stream) {
  if (!Allowed(context)) return grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "wrong token");
  v1::NodeReport report;
  while (stream->Read(&report)) {
    std::lock_guard lock(mutex_);
    if (report.has_hello()) {
      hello_ = report.hello();
      stream_ = stream;
      ++streams_;
      Greet();
    }
    if (stream_ != stream) break;
    Take(report);
    changed_.notify_all();
  }
  std::lock_guard lock(mutex_);
  if (stream_ == stream) stream_ = nullptr;
  changed_.notify_all();
  return grpc::Status::OK;
}

void FakeCoordinator::Greet() {
  seq_ = in_flight_ = 0;
  sent_jobs_.clear();
  pending_.Clear();
  v1::Welcome* welcome = pending_.mutable_welcome();
  welcome->set_epoch(epoch_);
  welcome->set_beat_ms(200);
  welcome->set_lease_ms(3000);
  if (!refuse_.empty()) welcome->set_refused(refuse_);
  pending_.set_snapshot_begin(true);
  pending_.set_snapshot_end(true);
  has_pending_ = true;
  for (const auto& [uid, order] : wanted_) RunLocked(jobs_[order.job_id()], order);
}

void FakeCoordinator::Take(const v1::NodeReport& report) {
  if (report.has_inventory()) inventory_ = report.inventory();
  if (report.ack() >= in_flight_) in_flight_ = 0;
  for (const v1::AttemptReport& attempt : report.attempts()) {
    Uid uid = Plain(attempt.uid());
    bool had_exit = known_[uid].has_exit();
    Merge(attempt, &known_[uid]);
    if (attempt.has_exit() && !had_exit && on_exit) on_exit(uid);
  }
  if (report.has_beat()) {
    v1::NodeOrders echo;
    echo.set_beat(report.beat());
    stream_->Write(echo);
  }
  Flush(report.seq());
}

// One message with a seq in flight; what comes meanwhile waits in pending_.
void FakeCoordinator::Flush(uint64_t ack) {
  if (!stream_) return;
  v1::NodeOrders orders;
  if (has_pending_ && in_flight_ == 0) {
    orders.Swap(&pending_);
    has_pending_ = false;
    orders.set_seq(in_flight_ = ++seq_);
  }
  if (ack) orders.set_ack(ack);
  if (orders.has_seq() || orders.has_ack()) stream_->Write(orders);
}

void FakeCoordinator::RunLocked(const Launch& job, Order order) {
  jobs_[job.job_id()] = job;
  if (!std::exchange(sent_jobs_[job.job_id()], true)) *pending_.add_jobs() = job;
  order.set_job_id(job.job_id());
  if (!order.has_generation()) order.set_generation(1);
  wanted_[Plain(order.uid())] = order;
  *pending_.add_attempts() = order;
  has_pending_ = true;
}

void FakeCoordinator::ForgetLocked(const Uid& uid) {
  wanted_.erase(uid);
  *pending_.add_forget() = Wire(uid);
  has_pending_ = true;
}

void FakeCoordinator::Run(const Launch& job, Order order) {
  std::lock_guard lock(mutex_);
  RunLocked(job, std::move(order));
  Flush(0);
}

void FakeCoordinator::StopAttempt(const Uid& uid, int64_t grace_ms, v1::WireCause why) {
  std::lock_guard lock(mutex_);
  Order order = wanted_[uid];
  *order.mutable_uid() = Wire(uid);
  order.set_want(Order::STOP);
  order.set_grace_ms(grace_ms);
  order.set_why(why);
  wanted_[uid] = order;
  *pending_.add_attempts() = order;
  has_pending_ = true;
  Flush(0);
}

void FakeCoordinator::Forget(const Uid& uid) {
  std::lock_guard lock(mutex_);
  ForgetLocked(uid);
  Flush(0);
}

grpc::Status FakeCoordinator::ShipLogs(grpc::ServerContext* context,
                                       grpc::ServerReaderWriter<v1::LogBatchAck, v1::LogBatch>* stream) {
  if (!Allowed(context)) return grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "wrong token");
  v1::LogBatch batch;
  while (stream->Read(&batch)) {
    std::lock_guard lock(mutex_);
    ++log_batches_;
    for (const v1::LogFrame& frame : batch.frames()) {
      std::string& stored = output_[{Plain(frame.uid()), frame.stream()}];
      if (frame.offset() > stored.size()) return grpc::Status(grpc::StatusCode::DATA_LOSS, "a gap");
      uint64_t known = stored.size() - frame.offset();
      if (known < frame.data().size()) stored.append(frame.data(), known, std::string::npos);
    }
    changed_.notify_all();
    if (!acknowledge_logs_) continue;
    v1::LogBatchAck ack;
    ack.set_acked_offset(batch.end_offset());
    stream->Write(ack);
  }
  return grpc::Status::OK;
}

bool FakeCoordinator::Wait(const std::function<bool()>& condition) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    std::unique_lock lock(mutex_);
    if (std::chrono::steady_clock::now() > deadline) return false;
    changed_.wait_for(lock, std::chrono::milliseconds(5));
  }
  return true;
}

std::optional<v1::ExitRecord> FakeCoordinator::ExitOf(const Uid& uid) {
  std::lock_guard lock(mutex_);
  auto found = known_.find(uid);
  if (found == known_.end() || !found->second.has_exit()) return std::nullopt;
  return found->second.exit();
}

std::optional<v1::WirePhase> FakeCoordinator::PhaseOf(const Uid& uid) {
  std::lock_guard lock(mutex_);
  auto found = known_.find(uid);
  if (found == known_.end() || !found->second.has_phase()) return std::nullopt;
  return found->second.phase();
}

std::string FakeCoordinator::Output(const Uid& uid, uint32_t stream) {
  std::lock_guard lock(mutex_);
  return output_[{uid, stream}];
}

bool FakeCoordinator::connected() {
  std::lock_guard lock(mutex_);
  return stream_ != nullptr;
}
int FakeCoordinator::streams() {
  std::lock_guard lock(mutex_);
  return streams_;
}
v1::NodeHello FakeCoordinator::hello() {
  std::lock_guard lock(mutex_);
  return hello_;
}
v1::Inventory FakeCoordinator::inventory() {
  std::lock_guard lock(mutex_);
  return inventory_;
}
std::map<Uid, v1::AttemptReport> FakeCoordinator::known() {
  std::lock_guard lock(mutex_);
  return known_;
}
uint64_t FakeCoordinator::log_batches() {
  std::lock_guard lock(mutex_);
  return log_batches_;
}

}  // namespace gt::worker
