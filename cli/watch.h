// Jobs watched to their end, across restarts of the coordinator.
#pragma once
#include <functional>
#include <optional>

#include "cli/session.h"
#include "common/base/ids.h"

namespace gt {

// Calls `each` for the summary now and at every change, until the job is final, `each` answers false, `until`
// (monotonic) has passed (kDeadlineExceeded) or the client was interrupted (kUnavailable). While the coordinator is
// away it tries again for ever and says so once. Answers the last summary.
Result<gridtrain::v1::JobSummary> WatchJob(Session* session, Client* client, const TaskSelector& job, Millis until,
                                           const std::function<bool(const gridtrain::v1::JobSummary&)>& each);

// The pauses and the one notice of a client that has lost its coordinator. Not thread-safe.
class Reconnect {
 public:
  explicit Reconnect(Session* session) : session_(session) {}
  // After a failure that may pass: waits. False when the client was interrupted or `until` comes first.
  bool Wait(Client* client, Millis until);
  // After something was received.
  void Reached();

 private:
  Session* session_;
  Millis pause_ = 0;
  bool told_ = false;
};

// Makes Ctrl-C interrupt the client instead of ending the process, for as long as it lives. Made before the client's
// first call, so that the signal reaches no other thread.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  void Attach(Client* client);
  InterruptGuard(const InterruptGuard&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gt
