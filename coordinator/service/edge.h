// What both services share: who may call, how a Status becomes gRPC's, and the threads on which reads wait for the disk.
#pragma once
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/base/status.h"

namespace gt {

grpc::Status ToGrpc(const Status& status);

// Every call carries "authorization: Bearer <token>" and "gt-protocol: <n>". Immutable; any thread.
class Auth {
 public:
  explicit Auth(std::string token) : expected_("Bearer " + std::move(token)) {}
  // kUnauthenticated, or kFailedPrecondition saying which side to upgrade.
  Status Check(const grpc::ServerContextBase& context) const;

 private:
  std::string expected_;
};

// A few threads for work that may wait for the disk, so that gRPC's own threads never do. Bounded.
class WorkPool {
 public:
  WorkPool(int threads, size_t max_waiting);
  ~WorkPool() { Stop(); }
  // kResourceExhausted when too much waits, kUnavailable when stopping; then `work` is not run.
  Status Run(std::function<void()> work);
  // Runs what waits, then ends. Idempotent.
  void Stop();

 private:
  void Loop();

  const size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace gt
