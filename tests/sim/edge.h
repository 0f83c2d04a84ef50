// The coordinator's side of the nodes' streams, as coordinator/service/{sync_stream,worker_edge} have it, without gRPC
// and threads: hello and takeover of a name, beats, sequence numbers, orders as bytes of the wire.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "coordinator/heard.h"
#include "coordinator/loop_body.h"
#include "tests/sim/network.h"

namespace gridtrain::v1 {
class NodeOrders;
class NodeReport;
}  // namespace gridtrain::v1

namespace gt::sim {

namespace wire = gridtrain::v1;

class Oracle;

class Edge {
 public:
  struct Parts {
    Timeline* timeline = nullptr;
    Network* network = nullptr;
    Oracle* oracle = nullptr;
    HeardBoard* heard = nullptr;
    std::function<Now()> clock;
    std::function<void(LoopItem)> push;
    Policy policy;
    Epoch epoch;
  };
  explicit Edge(Parts parts) : parts_(std::move(parts)) {}

  void OnAccepted(StreamId id, size_t node);
  void OnReport(StreamId id, const std::string& bytes);
  void OnGone(StreamId id);
  // From the loop.
  void Send(Orders orders, const ClusterState& state);
  void End(uint64_t session);
  // Another session than this one that may be sent orders; 0: none. For planted bugs.
  uint64_t AnotherSession(uint64_t session) const;

 private:
  enum class State { kNew, kJoining, kOpen, kClosing };
  struct Stream {
    StreamId id = 0;
    size_t node = 0;
    uint64_t session = 0;
    State state = State::kNew;
    std::shared_ptr<HeardCell> heard;
    NodeHello hello;
    uint64_t seq_in = 0, acked_out = 0, last_ack_in = 0;
    std::map<uint64_t, std::function<void()>> pings;
  };
  using StreamPtr = std::shared_ptr<Stream>;

  Status HandleHello(const StreamPtr& stream, const wire::NodeReport& report);
  Status HandleContents(Stream* stream, const wire::NodeReport& report);
  void Join(const StreamPtr& stream, NodeReport first);
  void Challenge(const StreamPtr& old, const StreamPtr& newcomer, NodeReport first);
  void Admit(const StreamPtr& stream, NodeReport first);
  void Answered(const StreamPtr& stream, const Status& status, const Reply& reply);
  void Refuse(const StreamPtr& stream, const std::string& why, bool try_again);
  void Close(const StreamPtr& stream);
  void Write(const Stream& stream, const wire::NodeOrders& orders);
  void Gone(const StreamPtr& stream);

  const Parts parts_;
  uint64_t next_session_ = 1, next_ping_ = 1;
  std::map<StreamId, StreamPtr> streams_;
  std::map<uint64_t, StreamPtr> by_session_;
  std::map<std::string, StreamPtr> by_name_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace gt::sim
