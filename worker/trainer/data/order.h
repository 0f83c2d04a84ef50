// Which sample comes when: a pure function of (seed, epoch, global offset), so that any sequence of world sizes sees
// each sample exactly once per epoch, and every rank can say what every other rank reads.
#pragma once
#include <cstdint>
#include <vector>

#include "common/base/assert.h"
#include "common/base/rng.h"

namespace gt::trainer {

// Where training stands in the data. `offset` counts samples of this epoch that are committed, over all ranks.
struct Cursor {
  int64_t epoch = 0;
  int64_t offset = 0;
  bool operator==(const Cursor&) const = default;
};

// A pseudo-random permutation of 0..size-1 that needs no memory: a Feistel network over the next power of four, walked
// until it falls inside.
class Permutation {
 public:
  Permutation(uint64_t seed, int64_t epoch, int64_t size);
  int64_t At(int64_t offset) const;

 private:
  uint64_t Once(uint64_t value) const;
  static constexpr int kRounds = 6;
  uint64_t keys_[kRounds];
  uint64_t size_, half_mask_;
  int half_bits_;
};

// The samples of one step: offsets [begin, end) of the epoch over all ranks, of which this rank reads [first, last).
struct StepSlice {
  int64_t begin = 0, end = 0;
  int64_t first = 0, last = 0;
  int64_t total() const { return end - begin; }
  int64_t mine() const { return last - first; }
};

// `samples_per_step` is over all ranks. The last step of an epoch takes what is left, split as evenly as
// can be; a rank may get none, yet it takes part: ranks never differ in step count.
StepSlice SliceOf(const Cursor& cursor, int64_t dataset_size, int rank, int world_size, int64_t samples_per_step);

// After the step. At the end of an epoch it is {epoch + 1, 0}.
Cursor Advance(const Cursor& cursor, const StepSlice& slice, int64_t dataset_size);

// Steps that are left from `cursor` on to the end of epoch `epochs` - 1, at this size of a step.
int64_t StepsLeft(const Cursor& cursor, int64_t dataset_size, int64_t epochs, int64_t samples_per_step);

// This rank's part of a set that is read once in order, such as the test set: [first, last).
struct Range { int64_t first = 0, last = 0; };
Range ShareOf(int64_t size, int rank, int world_size);

}  // namespace gt::trainer
