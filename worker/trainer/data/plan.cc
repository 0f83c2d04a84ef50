#include "worker/trainer/data/plan.h"

#include <algorithm>

namespace gt::trainer {

std::vector<MicroBatch> MicroBatchesOf(int64_t epoch, const StepSlice& slice, int64_t batch_size) {
  if (slice.mine() == 0) return {{.epoch = epoch, .range = {slice.begin, slice.begin + 1}, .weight = 0}};
  int64_t parts = (slice.mine() + batch_size - 1) / batch_size;
  std::vector<MicroBatch> batches;
  for (int64_t part = 0; part < parts; ++part) {
    int64_t first = slice.first + slice.mine() * part / parts, last = slice.first + slice.mine() * (part + 1) / parts;
    double weight = static_cast<double>(last - first) / static_cast<double>(slice.total());
    batches.push_back({.epoch = epoch, .range = {first, last}, .weight = weight});
  }
  return batches;
}

MicroBatch PlanWalk::Next() {
  if (next_ == step_.size()) {
    StepSlice slice = plan_.slice();
    step_ = MicroBatchesOf(plan_.cursor.epoch, slice, plan_.batch_size);
    plan_.cursor = Advance(plan_.cursor, slice, plan_.dataset_size);
    next_ = 0;
  }
  return step_[next_++];
}

const std::vector<int64_t>& Shuffler::Indices(const MicroBatch& batch) {
  if (epoch_ != batch.epoch) {
    order_ = std::make_unique<Permutation>(seed_, batch.epoch, dataset_size_);
    epoch_ = batch.epoch;
  }
  indices_.clear();
  for (int64_t offset = batch.range.first; offset < batch.range.last; ++offset) indices_.push_back(order_->At(offset));
  return indices_;
}

}  // namespace gt::trainer
