// From the order of samples to tensors.
#pragma once
#include <ATen/core/Tensor.h>

#include "worker/trainer/data/dataset.h"
#include "worker/trainer/data/order.h"

namespace gt::trainer {

struct Batch {
  at::Tensor inputs;  // [n, channels, height, width], float
  at::Tensor labels;  // [n], int64
};

// Reads samples of one dataset into reused memory: a batch is valid until the next one. For one thread.
class Batcher {
 public:
  Batcher(const Dataset* dataset, at::Device device) : dataset_(dataset), device_(device) {}
  // Samples at `range` of the epoch's order. At least one sample.
  Batch Shuffled(const Permutation& order, Range range);
  // Samples `range` as they lie.
  Batch InOrder(Range range);

 private:
  Batch Read();
  const Dataset* dataset_;
  at::Device device_;
  std::vector<int64_t> indices_;
  at::Tensor inputs_, labels_;  // as large as the largest batch so far
};

}  // namespace gt::trainer
