// From a plan to batches, in the plan's order: shard, shuffle, read (which includes the format's transform), batch; on
// threads that read ahead, or in Take itself.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "worker/trainer/data/host_batch.h"
#include "worker/trainer/data/plan.h"

namespace gt::trainer {

// For one consumer. The dataset outlives it.
class Loader {
 public:
  // `prefetch`: how many batches are read ahead; 0: none, and there are no threads.
  Loader(const Dataset* dataset, uint64_t seed, int64_t prefetch, int64_t readers);
  ~Loader();

  // What Take is to give from now on. Costs nothing when that is what would come anyway; else what was read ahead is
  // dropped.
  void Follow(const ReadingPlan& plan);

  struct Taken {
    const HostBatch* batch;  // until the next Take or Follow
    MicroBatch what;
  };
  // The next micro-step's batch. An error of the data comes when its batch does.
  Result<Taken> Take();

  // Time that Take has kept its caller, in all: the time that training has waited for data.
  int64_t waited_us() const { return waited_us_; }

 private:
  struct Slot {
    MicroBatch what;
    HostBatch batch;
    Status status;
    bool ready = false;
  };
  Slot& SlotOf(int64_t ticket) { return *slots_[static_cast<size_t>(ticket) % slots_.size()]; }
  void ReadLoop();
  Result<Taken> TakeNow(const MicroBatch& what);
  Result<Taken> TakeAhead();

  const Dataset* const dataset_;
  const uint64_t seed_;
  Shuffler shuffler_;  // of Take, where there are no threads
  int64_t waited_us_ = 0;
  std::optional<PlanWalk> taken_;  // stands at what Take gives next

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_. Batch number `ticket` lies in slot ticket % slots; tickets [oldest_, issued_) have one.
  std::vector<std::unique_ptr<Slot>> slots_;
  std::optional<PlanWalk> issue_;  // stands at ticket issued_
  int64_t oldest_ = 0, issued_ = 0;
  int reading_ = 0;
  bool holding_ = false;  // the consumer has ticket oldest_
  bool quit_ = false;

  std::vector<std::thread> threads_;
};

}  // namespace gt::trainer
