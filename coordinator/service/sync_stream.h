// One node's Sync stream: reads reports, answers beats at once, hands the rest to the loop, and writes one message at a time;
// what becomes due meanwhile merges into the next. Any thread may call the public functions.
#pragma once
#include <grpcpp/grpcpp.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "coordinator/heard.h"
#include "coordinator/service/convert.h"

namespace gt {

class WorkerEdge;

// Lives by shared_ptr: its own until the call is over, and those of whoever looked it up.
class SyncStream final : public grpc::ServerBidiReactor<wire::NodeReport, wire::NodeOrders>, public std::enable_shared_from_this<SyncStream> {
 public:
  static SyncStream* Begin(WorkerEdge* edge, grpc::CallbackServerContext* context, uint64_t session);

  uint64_t session() const { return session_; }
  const std::string& node_name() const { return node_name_; }  // constant once the edge knows the stream
  const Uid& node_uid() const { return node_uid_; }

  // The loop accepted the node: the first message of the stream.
  void Welcome(const wire::Welcome& welcome);
  // May not join; the stream ends after this message.
  void Refuse(const std::string& why, bool try_again);
  void Send(wire::NodeOrders orders);
  // Asks the worker to answer; `answered` is called at most once, when it does.
  void Ping(uint64_t ping, std::function<void()> answered);
  // Ends it now, whatever the peer does.
  void Abort(const std::string& why);
  // Ends it in an orderly way.
  void Close(const grpc::Status& status);

 private:
  enum class State { kNew, kJoining, kOpen, kClosing };

  SyncStream(WorkerEdge* edge, grpc::CallbackServerContext* context, uint64_t session) : edge_(edge), context_(context), session_(session) {}
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  // These run on the reading thread, without the lock. Not ok: what the peer did wrong; the stream ends.
  Status Handle();
  Status HandleHello();
  Status HandleContents();
  void HandlePong();

  void MaybeWrite();              // under the lock
  void MaybeFinish();             // under the lock

  WorkerEdge* const edge_;
  grpc::CallbackServerContext* context_;  // null once the call is over; under the lock
  const uint64_t session_;
  std::shared_ptr<HeardCell> heard_;
  std::string node_name_;
  Uid node_uid_;
  wire::NodeReport incoming_;     // the reading thread's
  uint64_t last_ack_in_ = 0;      // the reading thread's: our orders that it has done

  std::mutex mutex_;
  State state_ = State::kNew;
  bool writing_ = false, finished_ = false;
  grpc::Status final_status_;
  wire::NodeOrders outgoing_;     // being written
  wire::NodeOrders pending_;      // next
  bool has_pending_ = false;
  uint64_t beat_due_ = 0, ping_due_ = 0;
  uint64_t seq_in_ = 0, acked_out_ = 0;  // reports received and acknowledged
  std::map<uint64_t, std::function<void()>> pings_;
  std::shared_ptr<SyncStream> self_;
};

}  // namespace gt
