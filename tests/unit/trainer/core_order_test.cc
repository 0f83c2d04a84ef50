#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <vector>

#include "worker/trainer/data/order.h"

namespace gt::trainer {
namespace {

TEST(Permutation, IsABijectionForAnySize) {
  for (int64_t size : {1, 2, 3, 4, 5, 7, 16, 17, 100, 1000, 4097}) {
    Permutation order(/*seed=*/7, /*epoch=*/3, size);
    std::set<int64_t> seen;
    for (int64_t i = 0; i < size; ++i) {
      int64_t sample = order.At(i);
      ASSERT_GE(sample, 0);
      ASSERT_LT(sample, size);
      seen.insert(sample);
    }
    EXPECT_EQ(static_cast<int64_t>(seen.size()), size);
  }
}

TEST(Permutation, DependsOnSeedAndEpochAndNothingElse) {
  auto first = [](uint64_t seed, int64_t epoch) {
    std::vector<int64_t> samples;
    for (int64_t i = 0; i < 50; ++i) samples.push_back(Permutation(seed, epoch, 1000).At(i));
    return samples;
  };
  EXPECT_EQ(first(1, 0), first(1, 0));
  EXPECT_NE(first(1, 0), first(1, 1));
  EXPECT_NE(first(1, 0), first(2, 0));
}

TEST(Permutation, ShufflesWell) {
  // Neighbours must not stay neighbours: a correlation would show in training.
  Permutation order(1, 0, 10000);
  int close = 0;
  for (int64_t i = 0; i + 1 < 10000; ++i) close += std::abs(order.At(i + 1) - order.At(i)) <= 10;
  EXPECT_LT(close, 60);  // about 20 expected by chance
}

// Every sample of every epoch is read exactly once, whatever the sequence of world sizes, and all ranks take as many
// steps.
TEST(Slices, CoverEachSampleOnceOverRandomWorldSizes) {
  Rng rng(42);
  for (int round = 0; round < 300; ++round) {
    int64_t size = 1 + static_cast<int64_t>(rng.Below(500)), batch = 1 + static_cast<int64_t>(rng.Below(40));
    Cursor cursor;
    std::vector<int> reads(static_cast<size_t>(size), 0);
    int world = 1;
    int64_t predicted = -1;  // steps left, as long as the world keeps its size
    while (cursor.epoch < 2) {
      if (rng.OneIn(3)) world = 1 + static_cast<int>(rng.Below(9)), predicted = -1;
      int64_t left = StepsLeft(cursor, size, 2, batch * world);
      if (predicted >= 0) {
        EXPECT_EQ(left, predicted);
      }
      predicted = left - 1;
      Permutation order(9, cursor.epoch, size);
      StepSlice any{};
      int64_t covered = cursor.offset, most = 0, least = size;
      for (int rank = 0; rank < world; ++rank) {
        StepSlice slice = SliceOf(cursor, size, rank, world, batch * world);
        EXPECT_EQ(slice.first, covered);  // ranks lie side by side
        EXPECT_LE(slice.mine(), batch);
        most = std::max(most, slice.mine()), least = std::min(least, slice.mine());
        covered = slice.last;
        for (int64_t i = slice.first; i < slice.last; ++i) ++reads[static_cast<size_t>(order.At(i))];
        any = slice;
      }
      EXPECT_EQ(covered, any.end);
      EXPECT_LE(most - least, 1);
      EXPECT_GT(any.total(), 0);
      Cursor next = Advance(cursor, any, size);
      if (next.epoch != cursor.epoch) {
        for (int count : reads) ASSERT_EQ(count, 1) << "size " << size << " batch " << batch;
        std::fill(reads.begin(), reads.end(), 0);
        EXPECT_EQ(next.offset, 0);
      }
      cursor = next;
    }
    EXPECT_EQ(StepsLeft(cursor, size, 2, 3 * batch), 0);
  }
}

TEST(Shares, CoverAllAndDifferByOneAtMost) {
  for (int world : {1, 2, 3, 7}) {
    int64_t covered = 0;
    for (int rank = 0; rank < world; ++rank) {
      Range share = ShareOf(1000, rank, world);
      EXPECT_EQ(share.first, covered);
      EXPECT_NEAR(static_cast<double>(share.last - share.first), 1000.0 / world, 1.0);
      covered = share.last;
    }
    EXPECT_EQ(covered, 1000);
  }
}

}  // namespace
}  // namespace gt::trainer
