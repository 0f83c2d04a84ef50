#include "tests/support/fake_worker.h"

#include <chrono>

namespace gt::test {
namespace {
constexpr auto kPatience = std::chrono::seconds(10);

void FillExit(int code, const std::string& tail, wire::AttemptReport* report) {
  report->set_phase(wire::PHASE_ENDED);
  wire::ExitRecord* exit = report->mutable_exit();
  exit->set_why(code == 0 ? wire::ExitRecord::FINISHED : wire::ExitRecord::RANK_FAILED);
  if (code != 0) exit->set_first_failed(0);
  wire::RankExit* rank = exit->add_ranks();
  rank->set_rank(0);
  rank->set_code(code);
  if (!tail.empty()) rank->set_tail(tail);
}

}  // namespace

FakeWorker::FakeWorker(const Access& access, FakeWorkerOptions options) : options_(std::move(options)) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetMaxReceiveMessageSize(16 << 20);
  stub_ = wire::WorkerService::NewStub(grpc::CreateCustomChannel("ipv4:" + access.address, grpc::InsecureChannelCredentials(), arguments));
  context_.AddMetadata("authorization", "Bearer " + access.token);
  context_.AddMetadata("gt-protocol", "1");
  stream_ = stub_->Sync(&context_);
  wire::NodeHello* hello = due_.mutable_hello();
  hello->set_node_name(options_.name);
  Uid uid = options_.node_uid.empty() ? Uid{1, std::hash<std::string>()(options_.name) | 1} : options_.node_uid;
  hello->mutable_node_uid()->set_high(uid.high);
  hello->mutable_node_uid()->set_low(uid.low);
  hello->set_boot_id(options_.boot_id);
  hello->set_protocol(1);
  hello->set_version("fake");
  hello->set_cluster_id(access.cluster_id);
  wire::Inventory* inventory = due_.mutable_inventory();
  inventory->set_cpus(options_.cpus);
  inventory->set_memory(options_.memory);
  inventory->set_address("127.0.0.1");
  due_.set_snapshot_begin(true);
  due_.set_snapshot_end(true);
  {
    std::unique_lock lock(mutex_);
    Flush(&lock);
  }
  reader_ = std::thread([this] { Read(); });
  if (options_.beats) beater_ = std::thread([this] { Beat(); });
}

FakeWorker::~FakeWorker() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  context_.TryCancel();
  reader_.join();
  if (beater_.joinable()) beater_.join();
}

void FakeWorker::Read() {
  for (wire::NodeOrders orders; stream_->Read(&orders);) Handle(orders);
  grpc::Status end = stream_->Finish();
  std::lock_guard lock(mutex_);
  end_ = end;
  over_ = true;
  changed_.notify_all();
}

void FakeWorker::Beat() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::milliseconds(500), [this] { return stopping_ || over_; })) {
    beat_++;
    Flush(&lock);
  }
}

void FakeWorker::Handle(const wire::NodeOrders& orders) {
  std::unique_lock lock(mutex_);
  if (orders.has_welcome()) welcome_ = orders.welcome();
  acked_ = std::max<uint64_t>(acked_, orders.ack());
  if (orders.seq() != 0) orders_ = orders.seq(), wants_ack_ = true;
  if (orders.ping() != 0 && options_.answer_pings) pong_ = orders.ping();
  for (const wire::JobLaunch& launch : orders.jobs()) launches_[launch.job_id()] = launch.argv(0);
  for (const wire::WireUid& uid : orders.forget()) forgotten_[uid.SerializeAsString()] = true;
  for (const wire::AttemptOrder& order : orders.attempts()) {
    if (order.want() == wire::AttemptOrder::STOP) {
      stops_.push_back(order);
    } else if (options_.finish_at_once) {
      FillExit(0, "", Due(order));
      ended_++;
    } else {
      runs_.push_back(order);
    }
  }
  changed_.notify_all();
  Flush(&lock);
}

wire::AttemptReport* FakeWorker::Due(const wire::AttemptOrder& order) {
  wire::AttemptReport* report = due_.add_attempts();
  *report->mutable_uid() = order.uid();
  report->set_generation(order.generation());
  return report;
}

// One writer at a time; whoever comes meanwhile leaves it to that one.
void FakeWorker::Flush(std::unique_lock<std::mutex>* lock) {
  if (writing_) return;
  writing_ = true;
  while (true) {
    wire::NodeReport report;
    bool contents = acked_ == seq_ && (due_.has_hello() || due_.attempts_size() > 0 || due_.has_inventory());
    if (contents) {
      report.Swap(&due_);
      report.set_seq(++seq_);
    }
    bool beat = beat_ != sent_beat_;
    if (beat) report.set_beat(sent_beat_ = beat_);
    if (pong_ != 0) report.set_pong(pong_);
    if (!contents && !beat && pong_ == 0 && !wants_ack_) break;
    pong_ = 0;
    wants_ack_ = false;
    report.set_ack(orders_);
    lock->unlock();
    bool written = stream_->Write(report);
    lock->lock();
    if (!written) break;
  }
  writing_ = false;
}

std::optional<wire::Welcome> FakeWorker::Welcomed() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kPatience, [this] { return over_ || welcome_.has_value(); });
  return welcome_;
}

std::optional<wire::AttemptOrder> FakeWorker::TakeRun() {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kPatience, [this] { return !runs_.empty(); })) return std::nullopt;
  wire::AttemptOrder order = runs_.front();
  runs_.erase(runs_.begin());
  return order;
}

std::optional<wire::AttemptOrder> FakeWorker::TakeStop() {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kPatience, [this] { return !stops_.empty(); })) return std::nullopt;
  wire::AttemptOrder order = stops_.front();
  stops_.erase(stops_.begin());
  return order;
}

void FakeWorker::ReportPhase(const wire::AttemptOrder& order, wire::WirePhase phase) {
  std::unique_lock lock(mutex_);
  Due(order)->set_phase(phase);
  Flush(&lock);
}

void FakeWorker::ReportExit(const wire::AttemptOrder& order, int code, const std::string& tail, uint64_t stdout_bytes,
                            uint64_t lost_bytes) {
  std::unique_lock lock(mutex_);
  wire::AttemptReport* report = Due(order);
  FillExit(code, tail, report);
  report->mutable_exit()->mutable_ranks(0)->set_stdout_bytes(stdout_bytes);
  if (lost_bytes != 0) report->mutable_exit()->mutable_ranks(0)->set_lost_bytes(lost_bytes);
  ended_++;
  Flush(&lock);
}

void FakeWorker::ReportProgress(const wire::AttemptOrder& order, uint64_t step) {
  std::unique_lock lock(mutex_);
  Due(order)->mutable_progress()->set_step(step);
  Flush(&lock);
}

bool FakeWorker::WaitForget(const wire::WireUid& uid) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&] { return forgotten_.contains(uid.SerializeAsString()); });
}

grpc::Status FakeWorker::WaitEnd() {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kPatience, [this] { return over_; })) return {grpc::StatusCode::UNKNOWN, "the stream goes on"};
  return end_;
}

uint64_t FakeWorker::ended() const {
  std::lock_guard lock(mutex_);
  return ended_;
}

std::string FakeWorker::LaunchOf(uint64_t job) {
  std::lock_guard lock(mutex_);
  return launches_.contains(job) ? launches_[job] : "";
}

}  // namespace gt::test
