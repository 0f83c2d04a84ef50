#include "worker/trainer/batch.h"

#include <ATen/ATen.h>

namespace gt::trainer {

Batch ToBatch(const HostBatch& host, const at::Device& device) {
  const SampleShape& shape = host.shape();
  SampleMemory memory = host.memory();
  int64_t n = host.count();
  at::Tensor inputs = shape.is_text()
                          ? at::from_blob(memory.tokens, {n, shape.tokens}, at::kLong)
                          : at::from_blob(memory.values, {n, shape.channels, shape.height, shape.width}, at::kFloat);
  at::Tensor labels = at::from_blob(memory.labels, {n * shape.labels()}, at::kLong);
  return {inputs.to(device), labels.to(device)};
}

}  // namespace gt::trainer
