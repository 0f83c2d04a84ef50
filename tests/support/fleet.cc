#include "tests/support/fleet.h"

#include <chrono>
#include <mutex>

#include "common/os/clock.h"

namespace gt::test {

// One stream. Owned by its node and, until it is done, by gRPC.
class Fleet::Call final : public grpc::ClientBidiReactor<wire::NodeReport, wire::NodeOrders> {
 public:
  Call(Fleet* fleet, Node* node) : fleet_(fleet) {
    context_.AddMetadata("authorization", "Bearer " + fleet->access_.token);
    context_.AddMetadata("gt-protocol", "1");
    node->stub->async()->Sync(&context_, this);
    Greet(*node);
  }
  void Begin(std::shared_ptr<Call> self) {
    self_ = std::move(self);
    StartRead(&orders_);
    StartCall();
    std::lock_guard lock(mutex_);
    Send();
  }
  bool over() const { return over_.load(); }
  bool Beat() {
    std::lock_guard lock(mutex_);
    bool late = beat_ != sent_beat_;
    beat_++;
    Send();
    return !late;
  }
  void Cancel() { context_.TryCancel(); }

  void OnReadDone(bool ok) override {
    std::lock_guard lock(mutex_);
    failed_ = !ok;  // until here the read keeps the stream from being done; from here on nothing is written
    if (failed_) return;
    if (orders_.has_welcome() && !welcomed_) welcomed_ = true, fleet_->welcomed_++;
    if (orders_.ping() != 0) pong_ = orders_.ping();
    if (orders_.seq() != 0) seen_ = orders_.seq(), wants_ack_ = true;
    StartRead(&orders_);
    Send();
  }
  void OnWriteDone(bool ok) override {
    std::lock_guard lock(mutex_);
    writing_ = false;
    if (ok) Send();
  }
  void OnDone(const grpc::Status&) override {
    std::shared_ptr<Call> keep = std::move(self_);
    if (welcomed_) fleet_->welcomed_--;
    over_ = true;
  }

 private:
  void Greet(const Node& node) {
    first_ = true;
    wire::NodeHello* hello = report_.mutable_hello();
    hello->set_node_name("fleet-" + std::to_string(node.index));
    hello->mutable_node_uid()->set_high(7);
    hello->mutable_node_uid()->set_low(static_cast<uint64_t>(node.index) + 1);
    hello->set_boot_id("boot-1");
    hello->set_protocol(1);
    hello->set_version("fleet");
    hello->set_cluster_id(fleet_->access_.cluster_id);
    wire::Inventory* inventory = report_.mutable_inventory();
    inventory->set_cpus(64);
    inventory->set_memory(int64_t{256} << 30);
    inventory->set_address("127.0.0.1");
    report_.set_snapshot_begin(true);
    report_.set_snapshot_end(true);
    report_.set_seq(1);
  }
  void Send() {  // under the lock
    if (failed_ || writing_ || !(first_ || beat_ != sent_beat_ || pong_ != 0 || wants_ack_)) return;
    if (!first_) report_.Clear();
    first_ = false;
    if (beat_ != sent_beat_) report_.set_beat(sent_beat_ = beat_);
    if (pong_ != 0) report_.set_pong(pong_);
    report_.set_ack(seen_);
    pong_ = 0, wants_ack_ = false, writing_ = true;
    StartWrite(&report_);
  }

  Fleet* const fleet_;
  grpc::ClientContext context_;
  wire::NodeOrders orders_;
  std::mutex mutex_;
  wire::NodeReport report_;
  bool first_ = false, writing_ = false, failed_ = false, wants_ack_ = false, welcomed_ = false;
  uint64_t seen_ = 0, beat_ = 0, sent_beat_ = 0, pong_ = 0;
  std::atomic<bool> over_{false};
  std::shared_ptr<Call> self_;
};

Fleet::Fleet(const Access& access, int nodes, Millis beat) : access_(access), beat_(beat), nodes_(static_cast<size_t>(nodes)) {
  Millis now = ReadClock().mono;
  for (int i = 0; i < nodes; i++) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2000);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
    Node& node = nodes_[static_cast<size_t>(i)];
    node.index = i;
    node.stub = wire::WorkerService::NewStub(
        grpc::CreateCustomChannel("ipv4:" + access.address, grpc::InsecureChannelCredentials(), arguments));
    node.beat_at = now + beat * i / nodes;  // spread evenly
  }
  thread_ = std::thread([this] { Run(); });
}

Fleet::~Fleet() {
  stopping_ = true;
  thread_.join();
  for (Node& node : nodes_)
    if (node.call) node.call->Cancel();
  for (Node& node : nodes_)
    while (node.call && !node.call->over()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void Fleet::Run() {
  while (!stopping_) {
    Millis now = ReadClock().mono;
    for (Node& node : nodes_) Tend(&node, now);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void Fleet::Tend(Node* node, Millis now) {
  if (node->call && node->call->over()) {
    node->call.reset();
    node->open_at = now + static_cast<Millis>(random_() % 1000);
  }
  if (!node->call && now >= node->open_at) {
    node->call = std::make_shared<Call>(this, node);
    node->call->Begin(node->call);
  }
  if (now < node->beat_at) return;
  node->beat_at += beat_;
  if (!node->call) return;
  beats_++;
  if (!node->call->Beat()) late_++;
}

}  // namespace gt::test
