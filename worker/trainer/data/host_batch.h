// The memory of one batch on the host, reused from batch to batch.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "common/base/status.h"
#include "worker/trainer/data/dataset.h"

namespace gt::trainer {

// Memory on a 64-byte boundary, where vector loads do not straddle lines.
class AlignedMemory {
 public:
  // At least so many bytes; what it held is lost when it has to grow.
  void* Reserve(int64_t bytes) {
    if (bytes > bytes_) {
      bytes_ = (bytes + 63) / 64 * 64;
      memory_.reset(std::aligned_alloc(64, static_cast<size_t>(bytes_)));
      GT_ASSERT(memory_);
    }
    return memory_.get();
  }
  void* get() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  int64_t bytes_ = 0;
};

// For one thread at a time.
class HostBatch {
 public:
  // Reads the samples into this memory.
  Status Read(const Dataset& dataset, std::span<const int64_t> indices) {
    shape_ = dataset.shape();
    count_ = static_cast<int64_t>(indices.size());
    int64_t numel = count_ * shape_.numel();
    inputs_.Reserve(numel * static_cast<int64_t>(shape_.is_text() ? sizeof(int64_t) : sizeof(float)));
    labels_.Reserve(count_ * shape_.labels() * static_cast<int64_t>(sizeof(int64_t)));
    return dataset.Read(indices, memory());
  }
  int64_t count() const { return count_; }
  const SampleShape& shape() const { return shape_; }
  SampleMemory memory() const {
    SampleMemory memory{.labels = static_cast<int64_t*>(labels_.get())};
    if (shape_.is_text()) memory.tokens = static_cast<int64_t*>(inputs_.get());
    else memory.values = static_cast<float*>(inputs_.get());
    return memory;
  }

 private:
  SampleShape shape_;
  int64_t count_ = 0;
  AlignedMemory inputs_, labels_;
};

}  // namespace gt::trainer
