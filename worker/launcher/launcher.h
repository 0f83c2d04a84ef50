// The program, wired: everything that lives as long as gt-launcher does.
#pragma once
#include <memory>

#include "worker/launcher/attempts.h"
#include "worker/launcher/options.h"
#include "worker/launcher/worker_server.h"

namespace gt::launcher {

class Launcher {
 public:
  // Takes the lock on the directory, cleans up behind an earlier launcher, listens.
  static Result<std::unique_ptr<Launcher>> Make(const Options& options);
  ~Launcher();
  // Until SIGTERM or SIGINT finds no living attempt.
  void Run();

 private:
  explicit Launcher(const Options& options) : options_(options) {}
  Status Init();
  Status SetUpProcess(InheritedLimits* limits);
  Status SetUpNode();
  Status SetUpContainment();
  Status WatchSignals();
  void Snapshot(std::string* frames);
  void OnSignal();

  Options options_;
  Fd lock_, signals_;
  Uid instance_;
  NodeSetup setup_;
  Poller poller_;
  std::unique_ptr<Disk> disk_;
  std::unique_ptr<Spawner> spawner_;
  std::unique_ptr<Containment> containment_;
  std::unique_ptr<RankSocket> rank_socket_;
  std::unique_ptr<OutputGate> gate_;
  AttemptContext context_{};
  std::unique_ptr<Attempts> attempts_;
  std::unique_ptr<WorkerServer> server_;
  uint64_t spool_end_ = 0;
};

}  // namespace gt::launcher
