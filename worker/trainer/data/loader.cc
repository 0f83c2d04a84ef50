#include "worker/trainer/data/loader.h"

#include "worker/trainer/metrics/meter.h"

namespace gt::trainer {

Loader::Loader(const Dataset* dataset, uint64_t seed, int64_t prefetch, int64_t readers)
    : dataset_(dataset), seed_(seed), shuffler_(seed, dataset->size()) {
  // One more than is read ahead: the one that the consumer works on.
  for (int64_t i = 0; i <= prefetch; ++i) slots_.push_back(std::make_unique<Slot>());
  if (prefetch > 0)
    for (int64_t i = 0; i < readers; ++i) threads_.emplace_back([this] { ReadLoop(); });
}

Loader::~Loader() {
  {
    std::lock_guard lock(mutex_);
    quit_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void Loader::Follow(const ReadingPlan& plan) {
  if (taken_ && taken_->StandsAt(plan)) return;
  taken_.emplace(plan);
  if (threads_.empty()) return;
  std::unique_lock lock(mutex_);
  issue_.reset();  // nobody starts another one
  changed_.wait(lock, [&] { return reading_ == 0; });
  oldest_ = issued_ = 0;
  holding_ = false;
  issue_.emplace(plan);
  changed_.notify_all();
}

Result<Loader::Taken> Loader::Take() {
  GT_ASSERT(taken_);
  int64_t started = MonotonicMicros();
  MicroBatch next = taken_->Next();
  Result<Taken> taken = threads_.empty() ? TakeNow(next) : TakeAhead();
  waited_us_ += MonotonicMicros() - started;
  if (!taken.ok()) taken_.reset();  // where it stands is not where the threads do: the next Follow starts anew
  return taken;
}

Result<Loader::Taken> Loader::TakeNow(const MicroBatch& what) {
  HostBatch& batch = slots_[0]->batch;
  GT_RETURN_IF_ERROR(batch.Read(*dataset_, shuffler_.Indices(what)));
  return Taken{&batch, what};
}

Result<Loader::Taken> Loader::TakeAhead() {
  std::unique_lock lock(mutex_);
  if (holding_) {
    SlotOf(oldest_).ready = false;
    ++oldest_;
    changed_.notify_all();
  }
  holding_ = true;
  Slot& slot = SlotOf(oldest_);
  changed_.wait(lock, [&] { return oldest_ < issued_ && slot.ready; });
  GT_RETURN_IF_ERROR(slot.status);
  return Taken{&slot.batch, slot.what};
}

void Loader::ReadLoop() {
  Shuffler shuffler(seed_, dataset_->size());
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] {
      return quit_ || (issue_ && issued_ < oldest_ + static_cast<int64_t>(slots_.size()));
    });
    if (quit_) return;
    Slot& slot = SlotOf(issued_);
    ++issued_;
    ++reading_;
    slot.what = issue_->Next();
    slot.ready = false;
    lock.unlock();
    Status status = slot.batch.Read(*dataset_, shuffler.Indices(slot.what));
    lock.lock();
    slot.status = status;
    slot.ready = true;
    --reading_;
    changed_.notify_all();
  }
}

}  // namespace gt::trainer
