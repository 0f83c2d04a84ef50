// A whole worker, put together: data directory, inventory, loop, launcher, log shipper. Made, run, stopped once.
#pragma once
#include <memory>

#include "common/log/log.h"
#include "gridtrain/v1/config.pb.h"
#include "worker/runtime/driver.h"
#include "worker/runtime/log_shipper.h"
#include "worker/runtime/node_dir.h"

namespace gt::worker {

class Worker {
 public:
  // `config` with all defaults filled in; `log` must outlive the worker. Errors say in words for people what is
  // missing.
  static Result<std::unique_ptr<Worker>> Create(const gridtrain::v1::WorkerConfig& config, Log* log);
  ~Worker();

  // Until Stop (ok) or a refusal (kPermissionDenied, kUnauthenticated, kFailedPrecondition). Ranks run on after both.
  Status Run();
  void Stop() { driver_->Stop(); }  // any thread

 private:
  Worker(NodeDir dir, Log* log) : dir_(std::move(dir)), log_(log) {}

  NodeDir dir_;
  Log* log_;
  std::unique_ptr<Driver> driver_;
  std::unique_ptr<LogShipper> shipper_;
  std::unique_ptr<LauncherClient> launcher_;
};

}  // namespace gt::worker
