#include "worker/trainer/collective/work.h"

#include <ATen/ATen.h>

namespace gt::trainer {
namespace {

c10::intrusive_ptr<c10::ivalue::Future> TensorListFuture() {
  return c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
}

}  // namespace

AbortableWork::AbortableWork(int rank, c10d::OpType op, uint64_t sequence, int64_t numel)
    : Work(rank, op), sequence_(sequence), numel_(numel), future_(TensorListFuture()) {}

void AbortableWork::Complete(const c10::IValue& value) {
  if (done_.exchange(true)) return;
  future_->markCompleted(value);
  finish();
}

void AbortableWork::Fail(const std::exception_ptr& error) {
  if (done_.exchange(true)) return;
  future_->setErrorIfNeeded(error);
  finish(error);
}

std::vector<at::Tensor> AbortableWork::result() { return future_->value().toTensorVector(); }

std::string AbortableWork::Describe() const {
  auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started_);
  return "seq " + std::to_string(sequence_) + " " + c10d::opTypeToString(opType_) + " numel " + std::to_string(numel_) +
         " for " + std::to_string(waited.count()) + " ms";
}

FinishedWork::FinishedWork(int rank, c10d::OpType op, std::vector<at::Tensor> result)
    : Work(rank, op), future_(TensorListFuture()) {
  future_->markCompleted(c10::IValue(std::move(result)));
  finish();
}

std::vector<at::Tensor> FinishedWork::result() { return future_->value().toTensorVector(); }

}  // namespace gt::trainer
