// From batches in the host's memory to tensors.
#pragma once
#include <ATen/core/Tensor.h>

#include "worker/trainer/data/host_batch.h"

namespace gt::trainer {

struct Batch {
  at::Tensor inputs;  // float [n, channels, height, width], or int64 [n, tokens]
  at::Tensor labels;  // int64 [n], or [n * tokens]
};

// On the CPU the tensors are the host's memory itself, and valid as long as that.
Batch ToBatch(const HostBatch& host, const at::Device& device);

}  // namespace gt::trainer
