#include "worker/trainer/data/order.h"

#include <algorithm>
#include <bit>

namespace gt::trainer {

Permutation::Permutation(uint64_t seed, int64_t epoch, int64_t size) : size_(static_cast<uint64_t>(size)) {
  GT_ASSERT(size > 0);
  half_bits_ = std::max(1, (static_cast<int>(std::bit_width(size_ - 1)) + 1) / 2);
  half_mask_ = (uint64_t{1} << half_bits_) - 1;
  Rng rng(seed * 0xD1B54A32D192ED03ull + static_cast<uint64_t>(epoch) * 0x8CB92BA72F3D8DD7ull + 1);
  for (uint64_t& key : keys_) key = rng.Next();
}

uint64_t Permutation::Once(uint64_t value) const {
  uint64_t left = value >> half_bits_, right = value & half_mask_;
  for (uint64_t key : keys_) {
    uint64_t mixed = left ^ (Rng(right + key).Next() & half_mask_);
    left = right;
    right = mixed;
  }
  return left << half_bits_ | right;
}

int64_t Permutation::At(int64_t offset) const {
  uint64_t value = static_cast<uint64_t>(offset);
  do value = Once(value);
  while (value >= size_);  // fewer than four rounds on average: the network covers less than four times the size
  return static_cast<int64_t>(value);
}

Range ShareOf(int64_t size, int rank, int world_size) {
  auto cut = [&](int part) { return size * part / world_size; };  // fits: 10^12 samples times 10^6 ranks
  return {cut(rank), cut(rank + 1)};
}

StepSlice SliceOf(const Cursor& cursor, int64_t dataset_size, int rank, int world_size, int64_t samples_per_step) {
  int64_t total = std::min(samples_per_step, dataset_size - cursor.offset);
  Range share = ShareOf(total, rank, world_size);
  return {.begin = cursor.offset,
          .end = cursor.offset + total,
          .first = cursor.offset + share.first,
          .last = cursor.offset + share.last};
}

Cursor Advance(const Cursor& cursor, const StepSlice& slice, int64_t dataset_size) {
  GT_ASSERT(slice.begin == cursor.offset);
  return slice.end < dataset_size ? Cursor{cursor.epoch, slice.end} : Cursor{cursor.epoch + 1, 0};
}

int64_t StepsLeft(const Cursor& cursor, int64_t dataset_size, int64_t epochs, int64_t samples_per_step) {
  if (cursor.epoch >= epochs) return 0;
  auto steps = [&](int64_t samples) { return (samples + samples_per_step - 1) / samples_per_step; };
  return steps(dataset_size - cursor.offset) + (epochs - cursor.epoch - 1) * steps(dataset_size);
}

}  // namespace gt::trainer
