// The stream to the coordinator (WorkerService.Sync) over gRPC's callback API: opens it, writes reports, hands on what
// comes in. Knows nothing of what the messages mean. Streams are numbered by the caller, so that late news of an old
// one can be told apart.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "worker/core/messages.h"

namespace gt::worker {

// Where the coordinator is and what proves that we may talk to it. Asked for anew before each connection: a coordinator
// that has restarted may listen elsewhere.
struct Target {
  std::string address;  // "10.0.0.1:7411"
  std::string token;
};
using TargetSource = std::function<Result<Target>()>;

// Called on gRPC's threads; must not block for long and must not call back into the client.
struct SyncEvents {
  std::function<void(uint64_t stream)> connected;
  // kUnauthenticated, kPermissionDenied and kFailedPrecondition are the coordinator's own answers.
  std::function<void(uint64_t stream, Status why)> disconnected;
  std::function<void(uint64_t stream, NodeOrders orders)> orders;
};

class SyncClient {
 public:
  SyncClient(TargetSource target, SyncEvents events);
  ~SyncClient();  // closes; returns when no event can come any more
  SyncClient(const SyncClient&) = delete;
  SyncClient& operator=(const SyncClient&) = delete;

  // Opens stream `stream`; an earlier one is closed. Reports may be sent as soon as `connected` has come.
  void Connect(uint64_t stream);
  // Queued behind at most one report that is being written; beats and acknowledgements that wait merge into one.
  void Send(const NodeReport& report);
  void Close();

 private:
  class Stream;
  struct Shared;
  void Bury();
  TargetSource target_;
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<Stream> stream_;
};

}  // namespace gt::worker
