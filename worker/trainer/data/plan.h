// The stages shard and shuffle: which samples a rank computes, micro-step by micro-step, as long as the ranks stay the same.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "worker/trainer/data/order.h"

namespace gt::trainer {

// One micro-step: offsets of an epoch's order, and how much of the step's gradient it makes up (0: none; this rank had no
// sample of its own, and takes part with one of another).
struct MicroBatch {
  int64_t epoch = 0;
  Range range;
  double weight = 1;
};

// The micro-steps of one step for one rank: as few as there can be with `batch_size` samples each at most, and as even.
std::vector<MicroBatch> MicroBatchesOf(int64_t epoch, const StepSlice& slice, int64_t batch_size);

// Everything that decides what a rank reads from a cursor on.
struct ReadingPlan {
  Cursor cursor;
  int64_t dataset_size = 0;
  int rank = 0, world_size = 1;
  int64_t samples_per_step = 0, batch_size = 0;
  bool operator==(const ReadingPlan&) const = default;
  StepSlice slice() const { return SliceOf(cursor, dataset_size, rank, world_size, samples_per_step); }
};

// Walks a plan from micro-step to micro-step, for ever.
class PlanWalk {
 public:
  explicit PlanWalk(const ReadingPlan& plan) : plan_(plan) {}
  MicroBatch Next();
  // Whether the next micro-step is the first of what `plan` says.
  bool StandsAt(const ReadingPlan& plan) const { return next_ == step_.size() && plan_ == plan; }

 private:
  ReadingPlan plan_;  // its cursor: behind step_
  std::vector<MicroBatch> step_;
  size_t next_ = 0;
};

// Indices of the samples of a micro-step. Keeps the permutation of the epoch that it was asked for last.
class Shuffler {
 public:
  Shuffler(uint64_t seed, int64_t dataset_size) : seed_(seed), dataset_size_(dataset_size) {}
  const std::vector<int64_t>& Indices(const MicroBatch& batch);

 private:
  uint64_t seed_;
  int64_t dataset_size_, epoch_ = -1;
  std::unique_ptr<Permutation> order_;
  std::vector<int64_t> indices_;
};

}  // namespace gt::trainer
