// Writes checkpoints on a thread of its own, from a snapshot, so that training goes on.
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "common/base/status.h"
#include "worker/trainer/checkpoint/format/best.h"
#include "worker/trainer/checkpoint/format/manifest.h"
#include "worker/trainer/spec.h"
#include "worker/trainer/state.h"

namespace gt::trainer {

// For one rank at a time (rank 0): an attempt's folder has one writer.
class CheckpointWriter {
 public:
  struct Done {
    int64_t step = 0;
    std::string path;   // of the complete checkpoint
    int64_t bytes = 0;
  };
  // Keeps the last `policy.keep`, those of every `policy.keep_every` steps, and the best. `on_done` and `on_error` run on
  // the writer's thread.
  CheckpointWriter(std::string attempt_folder, const CheckpointSpec& policy, std::function<void(const Done&)> on_done,
                   std::function<void(const Status&)> on_error);
  ~CheckpointWriter();

  // Copies the state and returns; false when the previous checkpoint is still being written, or this step already is
  // one. `manifest.files` is filled in by the writer.
  bool Start(const TrainState& state, Manifest manifest);
  // Where the policy keeps the best: marks the newest complete checkpoint as that, if its test accuracy is better than
  // that of all before. Waits for what was started.
  Status OfferBest(double accuracy);
  bool Improves(double accuracy) const;  // whether OfferBest would
  // Waits for what was started. The status is that of the last one.
  Status Wait();
  int64_t last_step() const;  // of the newest complete checkpoint; -1: none

 private:
  struct Snapshot {
    Manifest manifest;
    std::vector<NamedTensor> model, optimizer;  // copies
  };
  void Loop();
  Result<Done> Write(const Snapshot& snapshot);
  void RemoveOld();
  bool Stays(int64_t step, size_t newer) const;

  const std::string folder_;
  const CheckpointSpec policy_;
  const std::function<void(const Done&)> on_done_;
  const std::function<void(const Status&)> on_error_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::optional<Snapshot> next_;
  bool busy_ = false, quit_ = false;
  int64_t last_step_ = -1;
  BestCheckpoint best_;
  Status last_status_;

  std::thread thread_;
};

}  // namespace gt::trainer
