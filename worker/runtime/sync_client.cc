#include "worker/runtime/sync_client.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "gridtrain/v1/worker_service.grpc.pb.h"
#include "worker/runtime/convert.h"
#include "worker/runtime/grpc_channel.h"

namespace gt::worker {
namespace v1 = gridtrain::v1;

// What the client and the callbacks of its streams share.
struct SyncClient::Shared {
  SyncEvents events;
  std::mutex mutex;
  std::condition_variable all_done;
  int streams = 0;
  // Streams that are over. gRPC must not lose its last channel on a callback thread (it would join itself), so the
  // client's own thread lets go of them.
  std::vector<std::shared_ptr<Stream>> over;
};

class SyncClient::Stream : public grpc::ClientBidiReactor<v1::NodeReport, v1::NodeOrders>,
                           public std::enable_shared_from_this<SyncClient::Stream> {
 public:
  Stream(uint64_t number, const Target& target, std::shared_ptr<Shared> shared)
      : number_(number), shared_(std::move(shared)), channel_(OpenChannel(target)),
        stub_(v1::WorkerService::NewStub(channel_)) {
    AddCredentials(target, &context_);
  }

  void Start() {
    self_ = shared_from_this();
    stub_->async()->Sync(&context_, this);
    AddHold();  // Send starts writes from outside of reactions
    StartRead(&orders_);
    StartCall();
  }

  void Send(const NodeReport& report) {
    std::lock_guard lock(mutex_);
    if (finished_) return;
    // Beats that could not be written yet say nothing that the newest one does not.
    if (report.seq == 0 && queue_.size() > 1 && !queue_.back().has_seq()) {
      uint64_t pong = queue_.back().pong(), beat = queue_.back().beat();
      queue_.back().Clear();
      ToProto(report, &queue_.back());
      if (!report.pong && pong) queue_.back().set_pong(pong);
      if (!report.beat && beat) queue_.back().set_beat(beat);
      return;
    }
    ToProto(report, &queue_.emplace_back());
    if (queue_.size() == 1) StartWrite(&queue_.front());
  }

  void Close() { context_.TryCancel(); }

  void OnWriteDone(bool ok) override {
    std::lock_guard lock(mutex_);
    if (!ok || finished_) return;
    queue_.pop_front();
    if (!queue_.empty()) StartWrite(&queue_.front());
  }

  void OnReadDone(bool ok) override {
    if (ok) {
      Result<NodeOrders> orders = FromProto(orders_);
      if (orders.ok()) {
        shared_->events.orders(number_, std::move(orders).value());
        return StartRead(&orders_);
      }
      broken_ = orders.status().WithContext("the coordinator sent what cannot be understood");
      context_.TryCancel();
    }
    std::lock_guard lock(mutex_);
    finished_ = true;
    RemoveHold();
  }

  void OnDone(const grpc::Status& status) override {
    Status why = !broken_.ok() ? broken_ : FromGrpc(status);
    if (why.ok()) why = Status(Code::kUnavailable, "the coordinator closed the stream");
    shared_->events.disconnected(number_, std::move(why));
    std::shared_ptr<Shared> shared = shared_;  // this may be gone as soon as the client knows
    std::lock_guard lock(shared->mutex);
    shared->over.push_back(std::move(self_));
    --shared->streams;
    shared->all_done.notify_all();
  }

 private:
  uint64_t number_;
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::WorkerService::Stub> stub_;
  grpc::ClientContext context_;
  v1::NodeOrders orders_;
  Status broken_;
  std::shared_ptr<Stream> self_;  // until OnDone
  std::mutex mutex_;              // guards what follows
  std::deque<v1::NodeReport> queue_;  // the front is being written
  bool finished_ = false;
};

SyncClient::SyncClient(TargetSource target, SyncEvents events)
    : target_(std::move(target)), shared_(std::make_shared<Shared>()) {
  shared_->events = std::move(events);
}

SyncClient::~SyncClient() {
  Close();
  {
    std::unique_lock lock(shared_->mutex);
    shared_->all_done.wait(lock, [this] { return shared_->streams == 0; });
  }
  Bury();
}

void SyncClient::Bury() {
  std::vector<std::shared_ptr<Stream>> over;  // destroyed after the lock is let go
  std::lock_guard lock(shared_->mutex);
  over.swap(shared_->over);
}

void SyncClient::Connect(uint64_t stream) {
  Close();
  Bury();
  Result<Target> target = target_();
  if (!target.ok()) return shared_->events.disconnected(stream, target.status());
  {
    std::lock_guard lock(shared_->mutex);
    ++shared_->streams;
  }
  stream_ = std::make_shared<Stream>(stream, *target, shared_);
  shared_->events.connected(stream);
  stream_->Start();
}

void SyncClient::Send(const NodeReport& report) {
  if (stream_) stream_->Send(report);
}

void SyncClient::Close() {
  if (stream_) stream_->Close();
  stream_.reset();
}

}  // namespace gt::worker
