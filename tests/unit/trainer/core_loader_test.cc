// From a plan to batches: what is read, in which order, and that reading ahead changes neither.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "worker/trainer/data/loader.h"

namespace gt::trainer {
namespace {

// A sample is its own index. Reads fail from index `broken` on.
class Numbers : public Dataset {
 public:
  explicit Numbers(int64_t size, int64_t broken = INT64_MAX, int delay_ms = 0)
      : size_(size), broken_(broken), delay_ms_(delay_ms) {}
  int64_t size() const override { return size_; }
  SampleShape shape() const override { return {1, 1, 1}; }
  int64_t classes() const override { return 2; }
  Status Read(std::span<const int64_t> indices, const SampleMemory& to) const override {
    ++reads_;
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms_));
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] >= broken_) return Status(Code::kDataLoss, "numbers broken, at offset 7");
      to.values[i] = static_cast<float>(indices[i]);
      to.labels[i] = indices[i];
    }
    return OkStatus();
  }
  int reads() const { return reads_; }

 private:
  mutable std::atomic<int> reads_{0};
  int64_t size_, broken_;
  int delay_ms_;
};

std::vector<int64_t> TakeLabels(Loader& loader, int batches) {
  std::vector<int64_t> labels;
  for (int i = 0; i < batches; ++i) {
    Result<Loader::Taken> taken = loader.Take();
    EXPECT_TRUE(taken.ok());
    if (!taken.ok()) break;
    const int64_t* values = taken->batch->memory().labels;
    labels.insert(labels.end(), values, values + taken->batch->count());
  }
  return labels;
}

constexpr ReadingPlan kPlan{.dataset_size = 100, .rank = 1, .world_size = 2, .samples_per_step = 24, .batch_size = 5};

TEST(MicroBatches, AreEvenAndWeighWhatTheyHold) {
  StepSlice slice{.begin = 0, .end = 24, .first = 12, .last = 24};
  std::vector<MicroBatch> batches = MicroBatchesOf(3, slice, 5);
  ASSERT_EQ(batches.size(), 3u);
  int64_t at = 12;
  double weight = 0;
  for (const MicroBatch& batch : batches) {
    EXPECT_EQ(batch.range.first, at);
    EXPECT_EQ(batch.range.last - batch.range.first, 4);
    EXPECT_EQ(batch.epoch, 3);
    at = batch.range.last, weight += batch.weight;
  }
  EXPECT_EQ(at, 24);
  EXPECT_DOUBLE_EQ(weight, 0.5);
}

TEST(MicroBatches, ARankWithoutSamplesTakesPartWithOneThatWeighsNothing) {
  std::vector<MicroBatch> batches = MicroBatchesOf(0, {.begin = 90, .end = 91, .first = 90, .last = 90}, 5);
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].weight, 0);
  EXPECT_EQ(batches[0].range.last - batches[0].range.first, 1);
}

TEST(MicroBatches, WeightsOfAllRanksMakeAWhole) {
  for (int64_t left : {1, 2, 7, 23, 24}) {
    double weight = 0;
    for (int rank = 0; rank < 3; ++rank) {
      ReadingPlan plan{.cursor = {0, 100 - left}, .dataset_size = 100, .rank = rank, .world_size = 3,
                       .samples_per_step = 24, .batch_size = 5};
      for (const MicroBatch& batch : MicroBatchesOf(0, plan.slice(), plan.batch_size)) weight += batch.weight;
    }
    EXPECT_NEAR(weight, 1, 1e-12) << left;
  }
}

// Batches come in the plan's order whether they are read when they are needed, ahead, or by several threads.
TEST(Loader, ReadingAheadChangesNothing) {
  Numbers numbers(100);
  Loader plain(&numbers, 9, 0, 1), ahead(&numbers, 9, 3, 1), many(&numbers, 9, 5, 4);
  for (Loader* loader : {&plain, &ahead, &many}) loader->Follow(kPlan);
  std::vector<int64_t> expected = TakeLabels(plain, 60);  // more than four epochs
  EXPECT_EQ(TakeLabels(ahead, 60), expected);
  EXPECT_EQ(TakeLabels(many, 60), expected);
}

TEST(Loader, TwoRanksShareOutAnEpoch) {
  Numbers numbers(100);
  std::vector<int64_t> all;
  for (int rank : {0, 1}) {
    ReadingPlan plan = kPlan;
    plan.rank = rank;
    Loader loader(&numbers, 9, 2, 2);
    loader.Follow(plan);
    std::vector<int64_t> mine = TakeLabels(loader, 13);  // 4 steps of 12 samples in 3 parts, and 2 samples
    all.insert(all.end(), mine.begin(), mine.end());
  }
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), 100u);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<int64_t>(i));
}

TEST(Loader, FollowingAnotherPlanDropsWhatWasReadAhead) {
  Numbers numbers(100);
  for (int64_t prefetch : {0, 4}) {
    Loader loader(&numbers, 9, prefetch, 2), fresh(&numbers, 9, 0, 1);
    loader.Follow(kPlan);
    TakeLabels(loader, 2);  // in the middle of a step
    ReadingPlan other = kPlan;
    other.cursor = {5, 48};
    other.world_size = 3;
    loader.Follow(other);
    fresh.Follow(other);
    EXPECT_EQ(TakeLabels(loader, 10), TakeLabels(fresh, 10)) << prefetch;
  }
}

TEST(Loader, FollowingThePlanThatItIsOnKeepsWhatWasReadAhead) {
  Numbers numbers(100);
  Loader loader(&numbers, 9, 4, 1);
  ReadingPlan plan = kPlan;
  loader.Follow(plan);
  TakeLabels(loader, 3);
  plan.cursor = Advance(plan.cursor, plan.slice(), plan.dataset_size);
  while (numbers.reads() < 7) std::this_thread::yield();  // three, and four ahead
  loader.Follow(plan);
  TakeLabels(loader, 2);
  EXPECT_LE(numbers.reads(), 9);  // five, and four ahead; what is dropped would be read again
}

TEST(Loader, CountsTheTimeThatItKeepsItsCaller) {
  Numbers slow(100, INT64_MAX, /*delay_ms=*/20);
  Loader loader(&slow, 9, 0, 1);
  loader.Follow(kPlan);
  TakeLabels(loader, 3);
  EXPECT_GE(loader.waited_us(), 60'000);
}

TEST(Loader, AnErrorComesWithItsBatchAndANewPlanGoesOn) {
  Numbers broken(100, 99);
  for (int64_t prefetch : {0, 3}) {
    Loader loader(&broken, 9, prefetch, 1);
    ReadingPlan plan = kPlan;
    plan.world_size = 1, plan.rank = 0;
    loader.Follow(plan);
    Status status;
    for (int i = 0; i < 25 && status.ok(); ++i) status = loader.Take().status();
    EXPECT_EQ(status.code(), Code::kDataLoss);
    EXPECT_NE(status.message().find("offset 7"), std::string::npos);
    loader.Follow(plan);
    EXPECT_TRUE(loader.Take().ok());
  }
}

}  // namespace
}  // namespace gt::trainer
