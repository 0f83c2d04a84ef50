#include "worker/trainer/collective/shm_backend.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

#include "worker/trainer/collective/work.h"
#include "worker/trainer/kernels/kernels.h"

namespace gt::trainer {
namespace {

constexpr size_t kLine = 64;

const at::Tensor& Only(const std::vector<at::Tensor>& tensors) {
  TORCH_CHECK(tensors.size() == 1, "one tensor per collective");
  TORCH_CHECK(tensors[0].is_contiguous() && tensors[0].device().is_cpu(), "a contiguous CPU tensor");
  return tensors[0];
}

char* Memory(const at::Tensor& tensor) { return static_cast<char*>(tensor.data_ptr()); }

}  // namespace

// Names what runs now for as long as it runs.
class ShmBackend::InOperation {
 public:
  InOperation(ShmBackend* backend, const char* name, int64_t numel) : backend_(backend) {
    std::lock_guard lock(backend->mutex_);
    backend->operation_ =
        "seq " + std::to_string(backend->operations_ + 1) + " " + name + " numel " + std::to_string(numel);
  }
  ~InOperation() {
    std::lock_guard lock(backend_->mutex_);
    backend_->operation_.clear();
  }

 private:
  ShmBackend* backend_;
};

ShmBackend::ShmBackend(std::unique_ptr<ShmSegment> segment, int rank, int world_size)
    : AbortableBackend(rank, world_size), segment_(std::move(segment)) {}

void ShmBackend::Meet() {
  Status status = segment_->Meet();
  if (!status.ok()) throw Aborted(status.message());
}

// Slots alternate: a rank that is ahead writes the other one, and it can be ahead by one operation only, because the
// next meeting waits for those that still read.
template <typename T>
void ShmBackend::SumChunk(char* memory, size_t bytes) {
  int parity = NextParity();
  std::memcpy(segment_->slot(parity, rank_), memory, bytes);
  Meet();
  T* out = reinterpret_cast<T*>(memory);
  auto slot = [&](int rank) { return reinterpret_cast<T*>(segment_->slot(parity, rank)); };
  size_t count = bytes / sizeof(T);
  if (size_ == 2) {  // a + b is b + a: each adds the other's to its own
    AddInto(out, slot(1 - rank_), static_cast<int64_t>(count));
    return;
  }
  // More ranks: each sums its own stretch over all slots in rank order, leaves it in its slot, and copies the others'.
  size_t stretch = ((count + static_cast<size_t>(size_) - 1) / static_cast<size_t>(size_) + kLine - 1) / kLine * kLine;
  auto first = [&](int rank) { return std::min(count, static_cast<size_t>(rank) * stretch); };
  size_t begin = first(rank_), length = first(rank_ + 1) - begin;
  if (rank_ != 0) std::memcpy(out + begin, slot(0) + begin, length * sizeof(T));
  for (int rank = 1; rank < size_; ++rank) AddInto(out + begin, slot(rank) + begin, static_cast<int64_t>(length));
  std::memcpy(slot(rank_) + begin, out + begin, length * sizeof(T));
  Meet();
  for (int rank = 0; rank < size_; ++rank)
    if (rank != rank_)
      std::memcpy(out + first(rank), slot(rank) + first(rank), (first(rank + 1) - first(rank)) * sizeof(T));
}

void ShmBackend::SumChunk(at::ScalarType type, char* memory, size_t bytes) {
  switch (type) {
    case at::kFloat: return SumChunk<float>(memory, bytes);
    case at::kDouble: return SumChunk<double>(memory, bytes);
    case at::kInt: return SumChunk<int32_t>(memory, bytes);
    case at::kLong: return SumChunk<int64_t>(memory, bytes);
    default: TORCH_CHECK(false, "all-reduce through shared memory does not know ", type);
  }
}

c10::intrusive_ptr<c10d::Work> ShmBackend::allreduce(std::vector<at::Tensor>& tensors,
                                                     const c10d::AllreduceOptions& options) {
  const at::Tensor& tensor = Only(tensors);
  TORCH_CHECK(options.reduceOp == c10d::ReduceOp::SUM, "all-reduce through shared memory only sums");
  InOperation operation(this, "ALLREDUCE", tensor.numel());
  for (size_t done = 0; done < tensor.nbytes(); done += segment_->slot_bytes())
    SumChunk(tensor.scalar_type(), Memory(tensor) + done, std::min(segment_->slot_bytes(), tensor.nbytes() - done));
  return c10::make_intrusive<FinishedWork>(rank_, c10d::OpType::ALLREDUCE, tensors);
}

c10::intrusive_ptr<c10d::Work> ShmBackend::broadcast(std::vector<at::Tensor>& tensors,
                                                     const c10d::BroadcastOptions& options) {
  const at::Tensor& tensor = Only(tensors);
  int root = static_cast<int>(options.rootRank);
  TORCH_CHECK(root >= 0 && root < size_, "no such root");
  InOperation operation(this, "BROADCAST", tensor.numel());
  for (size_t done = 0; done < tensor.nbytes(); done += segment_->slot_bytes()) {
    size_t bytes = std::min(segment_->slot_bytes(), tensor.nbytes() - done);
    int parity = NextParity();
    if (rank_ == root) std::memcpy(segment_->slot(parity, root), Memory(tensor) + done, bytes);
    Meet();
    if (rank_ != root) std::memcpy(Memory(tensor) + done, segment_->slot(parity, root), bytes);
  }
  return c10::make_intrusive<FinishedWork>(rank_, c10d::OpType::BROADCAST, tensors);
}

c10::intrusive_ptr<c10d::Work> ShmBackend::allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                                     std::vector<at::Tensor>& inputs, const c10d::AllgatherOptions&) {
  const at::Tensor& input = Only(inputs);
  TORCH_CHECK(outputs.size() == 1 && outputs[0].size() == static_cast<size_t>(size_), "one output per rank");
  for (const at::Tensor& output : outputs[0])
    TORCH_CHECK(output.is_contiguous() && output.nbytes() == input.nbytes(), "outputs of the input's size");
  InOperation operation(this, "ALLGATHER", input.numel());
  for (size_t done = 0; done < input.nbytes(); done += segment_->slot_bytes()) {
    size_t bytes = std::min(segment_->slot_bytes(), input.nbytes() - done);
    int parity = NextParity();
    std::memcpy(segment_->slot(parity, rank_), Memory(input) + done, bytes);
    Meet();
    for (int rank = 0; rank < size_; ++rank)
      std::memcpy(Memory(outputs[0][static_cast<size_t>(rank)]) + done, segment_->slot(parity, rank), bytes);
  }
  return c10::make_intrusive<FinishedWork>(rank_, c10d::OpType::ALLGATHER, outputs[0]);
}

c10::intrusive_ptr<c10d::Work> ShmBackend::barrier(const c10d::BarrierOptions&) {
  InOperation operation(this, "BARRIER", 0);
  NextParity();
  Meet();
  return c10::make_intrusive<FinishedWork>(rank_, c10d::OpType::BARRIER, std::vector<at::Tensor>{});
}

std::string ShmBackend::InFlight() {
  std::lock_guard lock(mutex_);
  return operation_.empty() ? "nothing" : operation_;
}

}  // namespace gt::trainer
