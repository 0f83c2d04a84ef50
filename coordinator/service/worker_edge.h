// All Sync streams: who is connected, who may take over a node's name, and the way from the loop's orders to a stream.
#pragma once
#include <grpcpp/alarm.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "common/log/log.h"
#include "coordinator/loop.h"
#include "coordinator/service/convert.h"
#include "coordinator/service/sync_stream.h"

namespace gt {

class WorkerEdge {
 public:
  struct Options {
    Policy policy;
    Epoch epoch;
    std::function<Now()> clock;
    Millis ping_wait = kSecond;       // for the old stream of a name that a newcomer claims
    size_t max_streams = 10'000;
  };
  WorkerEdge(Loop* loop, Log* log, Options options) : loop_(loop), log_(log), options_(std::move(options)) {}

  Loop* loop() const { return loop_; }
  Now clock() const { return options_.clock(); }

  // --- from streams
  SyncStream* Open(grpc::CallbackServerContext* context);
  // The stream has said who it is. Ends in Welcome or Refuse.
  void Join(std::shared_ptr<SyncStream> stream, NodeHello hello, NodeReport first);
  void Report(NodeReport report);
  void Gone(const SyncStream& stream);

  // --- from the loop's thread
  void Send(Orders orders, const ClusterState& state);
  // The node is lost: its worker has to come back anew, should it still be there.
  void End(uint64_t session);

  // Ends every stream; no new one is let in. Workers come back to the next coordinator.
  void CloseAll();

 private:
  using Stream = std::shared_ptr<SyncStream>;
  // A newcomer whose name an old stream has: whichever comes first decides, that stream's answer or the time.
  struct Challenge {
    Stream newcomer;
    NodeHello hello;
    NodeReport first;
    grpc::Alarm alarm;
  };
  void ChallengeOld(const Stream& old, Stream newcomer, NodeHello hello, NodeReport first);
  std::unique_ptr<Challenge> Take(uint64_t ping);  // null: it is decided
  void Admit(Stream stream, NodeHello hello, NodeReport first);
  void Answered(const Stream& stream, const Status& status, const Reply& reply);  // on the loop's thread
  Stream Find(uint64_t session);
  const wire::JobLaunch* LaunchOf(JobId id, const ClusterState& state);  // the loop's thread

  Loop* const loop_;
  Log* const log_;
  const Options options_;
  std::atomic<uint64_t> next_session_{1}, next_ping_{1};
  std::unordered_map<JobId, wire::JobLaunch> launches_;  // the loop's: arrays and gangs need the same one again and again

  std::mutex mutex_;
  bool closed_ = false;
  std::unordered_map<uint64_t, Stream> streams_;          // joining and joined
  std::unordered_map<std::string, uint64_t> by_name_;     // joined
  std::map<uint64_t, std::unique_ptr<Challenge>> challenges_;  // by ping
};

}  // namespace gt
