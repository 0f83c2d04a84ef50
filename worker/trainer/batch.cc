#include "worker/trainer/batch.h"

#include <ATen/ATen.h>

namespace gt::trainer {

Batch Batcher::Shuffled(const Permutation& order, Range range) {
  indices_.clear();
  for (int64_t offset = range.first; offset < range.last; ++offset) indices_.push_back(order.At(offset));
  return Read();
}

Batch Batcher::InOrder(Range range) {
  indices_.clear();
  for (int64_t index = range.first; index < range.last; ++index) indices_.push_back(index);
  return Read();
}

Batch Batcher::Read() {
  int64_t count = static_cast<int64_t>(indices_.size());
  GT_ASSERT(count > 0);
  if (!inputs_.defined() || inputs_.size(0) < count) {
    SampleShape shape = dataset_->shape();
    inputs_ = at::empty({count, shape.channels, shape.height, shape.width}, at::kFloat);
    labels_ = at::empty({count}, at::kLong);
  }
  dataset_->Read(indices_, inputs_.mutable_data_ptr<float>(), labels_.mutable_data_ptr<int64_t>());
  return {inputs_.narrow(0, 0, count).to(device_), labels_.narrow(0, 0, count).to(device_)};
}

}  // namespace gt::trainer
